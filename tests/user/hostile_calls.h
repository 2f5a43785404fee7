/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile_calls.h - the calls of the hostile process, with arguments that are right, nearly right,
 * and wrong. hostile.c includes it after its random numbers and tables.
 */

/* ---- discovery and opening ---- */

static void do_getinfo(struct context *c)
{
	static __thread struct kfi_user_info answers[4];
	struct kfi_user_getinfo get = {
		.version = chance(90) ? FI_VERSION(2, 1) : any64(),
		.count = chance(90) ? below(5) : any64(),
		.flags = chance(80) ? (chance(20) ? FI_SOURCE : 0) : any64(),
		.info_size = chance(90) ? sizeof(struct kfi_user_info) : any64(),
		.hints = chance(70) ? (uintptr_t)some_info(0) :
				      pointer(sizeof(struct kfi_user_info)),
		.infos = chance(90) ? (uintptr_t)answers : pointer(sizeof(answers)),
	};
	char node[300], service[80];

	memset(node, 'l', sizeof(node));
	snprintf(service, sizeof(service), "%d", (int)below(70000));
	if (chance(20))
		get.node = chance(70) ? (uintptr_t)memcpy(node, "loop", sizeof("loop")) :
			   chance(50) ? (uintptr_t)node :
					pointer(8);
	if (chance(20))
		get.service = chance(80) ? (uintptr_t)service : pointer(8);
	if (get.count > 4)
		get.infos = pointer(0);
	call(c, KFI_IOC_GETINFO, &get);
}

static void do_version(struct context *c)
{
	struct kfi_user_version version = { };

	call(c, KFI_IOC_VERSION, &version);
}

static void do_fabric(struct context *c)
{
	struct kfi_user_fabric fabric = { .api_version = chance(95) ? FI_VERSION(2, 1) : any64(),
					  .cookie = any64() };
	struct kfi_user_info *info = some_info(0);

	memcpy(fabric.prov_name, info->fabric.prov_name, sizeof(fabric.prov_name));
	memcpy(fabric.name, info->fabric.name, sizeof(fabric.name));
	if (!call(c, KFI_IOC_FABRIC, &fabric))
		keep(c, FABRIC, fabric.handle);
}

static void open_any(struct context *c, unsigned long request, enum class parent, enum class class,
		     enum fi_ep_type type)
{
	struct kfi_user_open open = {
		.parent = handle(c, parent), .cookie = any64(), .info = (uintptr_t)some_info(type),
		.info_size = chance(95) ? sizeof(struct kfi_user_info) : any64(),
	};

	if (class == EP && chance(type == FI_EP_MSG ? 40 : 5))
		open.connreq = handle(c, CONNREQ);
	if (chance(3))
		open.info = pointer(sizeof(struct kfi_user_info));
	if (!call(c, request, &open))
		keep(c, class, open.handle);
}

static void do_domain(struct context *c)
{
	open_any(c, KFI_IOC_DOMAIN, FABRIC, DOMAIN, 0);
}

static void do_pep(struct context *c)
{
	open_any(c, KFI_IOC_PASSIVE_EP, FABRIC, PEP, FI_EP_MSG);
}

static void do_ep(struct context *c)
{
	open_any(c, KFI_IOC_ENDPOINT, DOMAIN, EP, some_type());
}

static void do_stx(struct context *c)
{
	open_any(c, KFI_IOC_STX, DOMAIN, STX, some_type());
}

static void do_srx(struct context *c)
{
	open_any(c, KFI_IOC_SRX, DOMAIN, SRX, some_type());
}

static void do_cq(struct context *c)
{
	struct kfi_user_cq cq = { .domain = handle(c, DOMAIN),
				  .cookie = any64(),
				  .size = chance(90) ? below(300) : any64(),
				  .flags = chance(97) ? 0 : any64() };

	if (call(c, KFI_IOC_CQ, &cq))
		return;
	keep(c, CQ, cq.handle);
	if (cq.ring_bytes <= RING && chance(50))
		mmap(rings + below(RINGS) * RING, chance(90) ? cq.ring_bytes : 1 + below(RING),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->fd,
		     (off_t)cq.handle * PAGE);
}

static void do_eq(struct context *c)
{
	struct kfi_user_eq eq = { .fabric = handle(c, FABRIC),
				  .cookie = any64(),
				  .size = chance(90) ? below(300) : any64(),
				  .flags = chance(90) ? FI_WRITE : any64() };

	if (!call(c, KFI_IOC_EQ, &eq))
		keep(c, EQ, eq.handle);
}

static void do_cntr(struct context *c)
{
	struct kfi_user_cntr cntr = { .domain = handle(c, DOMAIN),
				      .cookie = any64(),
				      .events = chance(90) ? below(2) : any64() };
	void *page;

	if (call(c, KFI_IOC_CNTR, &cntr))
		return;
	keep(c, CNTR, cntr.handle);
	page = mmap(NULL, chance(90) ? PAGE : below(1 << 20) + 1,
		    PROT_READ | (chance(10) ? PROT_WRITE : 0), MAP_SHARED, c->fd,
		    (off_t)cntr.handle * PAGE);
	if (page != MAP_FAILED)
		munmap(page, PAGE);
}

static void do_av(struct context *c)
{
	struct kfi_user_av av = { .domain = handle(c, DOMAIN),
				  .cookie = any64(),
				  .count = chance(90) ? below(300) : any64(),
				  .rx_ctx_bits = chance(90) ? 0 : any64() };

	if (!call(c, KFI_IOC_AV, &av))
		keep(c, AV, av.handle);
}

static void iovec(struct kfi_user_iovec *iov, int count, uint64_t longest)
{
	while (count--) {
		iov[count].len = chance(97) ? below(longest) : any64();
		iov[count].base = pointer(iov[count].len);
	}
}

static void do_mr(struct context *c)
{
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	struct kfi_user_mr mr = {
		.domain = handle(c, DOMAIN),
		.cookie = any64(),
		.iov = chance(97) ? (uintptr_t)iov : pointer(sizeof(iov)),
		.iov_count = chance(80) ? 1 :
			     chance(90) ? 1 + below(KFI_USER_IOV_MAX) :
					  any64(),
		.access = flags_of(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
				   FI_REMOTE_WRITE),
		.offset = chance(70) ? 0 : any64(),
		.requested_key = chance(80) ? FI_KEY_NOTAVAIL : below(64),
		.flags = chance(95) ? 0 : flags_of(FI_RMA_EVENT),
	};

	iovec(iov, KFI_USER_IOV_MAX, chance(90) ? 1 << 16 : 1 << 22);
	if (!call(c, KFI_IOC_MR, &mr))
		keep(c, MR, mr.handle);
}

/* ---- operations on objects ---- */

static void do_close(struct context *c)
{
	/* More often objects that use others, or few would ever be complete */
	static const enum class often[] = { EP, EP, EP,	  MR, MR,  MR,	CONNREQ, PEP,
					    CQ, AV, CNTR, EQ, STX, SRX, DOMAIN,	 FABRIC };
	struct kfi_user_handle h = { .handle = handle(
					     c, often[below(sizeof(often) / sizeof(*often))]) };

	call(c, KFI_IOC_CLOSE, &h);
}

static void do_bind(struct context *c)
{
	static const struct {
		enum class what, to;
		uint64_t flags;
	} usual[] = {
		{ EP, CQ, FI_TRANSMIT | FI_RECV },
		{ EP, CQ, FI_TRANSMIT | FI_RECV },
		{ EP, AV, 0 },
		{ EP, AV, 0 },
		{ EP, EQ, 0 },
		{ PEP, EQ, 0 },
		{ EP, CNTR,
		  FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE },
		{ EP, STX, 0 },
		{ EP, SRX, 0 },
		{ SRX, CQ, FI_RECV },
		{ MR, CNTR, FI_REMOTE_WRITE },
		{ MR, EP, 0 },
	};
	int n = below(sizeof(usual) / sizeof(*usual));
	struct kfi_user_bind bind = {
		.handle = handle(c, usual[n].what),
		.target = handle(c, usual[n].to),
		.flags = flags_of(usual[n].flags),
	};

	call(c, KFI_IOC_BIND, &bind);
}

static void one_handle(struct context *c, unsigned long request, enum class class)
{
	struct kfi_user_handle h = { .handle = handle(c, class) };

	if (!call(c, request, &h) && request == KFI_IOC_GETWAIT) {
		if (h.fd > 2 && h.fd < 1024 && h.fd != (uint32_t)c->fd)
			close(h.fd);
	}
}

static void do_enable(struct context *c)
{
	one_handle(c, KFI_IOC_ENABLE, chance(90) ? EP : MR);
}

static void do_listen(struct context *c)
{
	one_handle(c, KFI_IOC_LISTEN, PEP);
}

static void do_drain(struct context *c)
{
	one_handle(c, KFI_IOC_DRAIN, CQ);
}

static void do_signal(struct context *c)
{
	one_handle(c, KFI_IOC_SIGNAL, chance(80) ? CQ : EQ);
}

static void do_getwait(struct context *c)
{
	one_handle(c, KFI_IOC_GETWAIT, chance(60) ? CQ : chance(50) ? EQ : CNTR);
}

/* Addresses of endpoints of both kinds, so that calls and vectors often name one that exists. */
static unsigned char learnt[16][KFI_USER_ADDR_MAX];
static uint32_t learnt_len = 16;

/*
 * An endpoint with its queue, vector, event queue and a region, which fit each other, or few
 * endpoints would ever be enabled. It is its own peer.
 */
static void do_whole(struct context *c)
{
	enum fi_ep_type type = some_type();
	struct kfi_user_info *info = &infos[0];
	unsigned char addr[KFI_USER_ADDR_MAX];
	struct kfi_user_name n = { .addr = (uintptr_t)addr, .addrlen = sizeof(addr) };
	struct kfi_user_av_insert in = { .count = 1, .addrs = (uintptr_t)addr };
	int try, fabric, domain, eq, av, ep, mr;
	struct kfi_user_cq cq;
	uint64_t key;

	for (try = 0; try < info_count; try++)
		if (infos[try].ep.type == type)
			info = &infos[try];
	fabric = raw_fabric(c->fd, info);
	if (fabric < 0)
		return;
	keep(c, FABRIC, fabric);
	domain = raw_object(c->fd, KFI_IOC_DOMAIN, fabric, info, 0);
	eq = raw_eq(c->fd, fabric);
	if (domain < 0 || eq < 0)
		return;
	keep(c, DOMAIN, domain);
	keep(c, EQ, eq);
	av = raw_av(c->fd, domain);
	ep = raw_object(c->fd, KFI_IOC_ENDPOINT, domain, info, 0);
	mr = raw_mr(c->fd, domain, steady, 1 << 16, &key);
	if (mr > 0)
		keep(c, MR, mr);
	if (av < 0 || ep < 0 || raw_cq(c->fd, domain, 1 + below(64), &cq))
		return;
	keep(c, AV, av);
	keep(c, EP, ep);
	keep(c, CQ, cq.handle);
	if (cq.ring_bytes <= RING)
		mmap(rings + below(RINGS) * RING, cq.ring_bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, c->fd, (off_t)cq.handle * PAGE);
	raw_bind(c->fd, ep, cq.handle, FI_TRANSMIT | FI_RECV);
	raw_bind(c->fd, ep, eq, 0);
	if (type != FI_EP_RDM)
		return;
	raw_bind(c->fd, ep, av, 0);
	do_enable(c);
	n.handle = ep;
	if (raw_ioctl(c->fd, KFI_IOC_GETNAME, &n))
		return;
	keep(c, READY, ep);
	memcpy(learnt[below(16)], addr, sizeof(addr));
	learnt_len = n.addrlen;
	in.av = av;
	in.addrs_size = n.addrlen;
	raw_ioctl(c->fd, KFI_IOC_AV_INSERT, &in);
}

static void option(struct context *c, unsigned long request)
{
	static const uint32_t names[] = { FI_OPT_MIN_MULTI_RECV,  FI_OPT_CM_DATA_SIZE,
					  FI_OPT_BUFFERED_MIN,	  FI_OPT_BUFFERED_LIMIT,
					  FI_OPT_INJECT_MSG_SIZE, FI_OPT_INJECT_RMA_SIZE };
	uint64_t value[8] = { chance(70) ? below(4096) : any64() };
	struct kfi_user_opt opt = {
		.handle = handle(c, chance(80) ? EP : PEP),
		.level = chance(95) ? FI_OPT_ENDPOINT : any64(),
		.name = chance(90) ? names[below(sizeof(names) / sizeof(*names))] : any64(),
		.len = chance(90) ? sizeof(uint64_t) : any64(),
		.value = chance(95) ? (uintptr_t)value : pointer(8),
	};

	if (opt.len > sizeof(value))
		opt.value = pointer(0);
	call(c, request, &opt);
}

static void do_getopt(struct context *c)
{
	option(c, KFI_IOC_GETOPT);
}

static void do_setopt(struct context *c)
{
	option(c, KFI_IOC_SETOPT);
}

static void name(struct context *c, unsigned long request, enum class class)
{
	unsigned char addr[KFI_USER_ADDR_MAX], data[KFI_USER_DATA_MAX + 16];
	struct kfi_user_name n = {
		.handle = handle(c, class),
		.addr = chance(95) ? (uintptr_t)addr : pointer(sizeof(addr)),
		.param = chance(95) ? (uintptr_t)data : pointer(64),
		.paramlen = chance(60) ? 0 :
			    chance(90) ? below(sizeof(data)) :
					 any64(),
	};
	int get = request == KFI_IOC_GETNAME || request == KFI_IOC_GETPEER;

	if (get || request == KFI_IOC_REJECT)
		n.connreq = request == KFI_IOC_REJECT ? handle(c, CONNREQ) : 0;
	if (get)
		n.paramlen = n.param = 0;
	n.addrlen = get ? sizeof(addr) : learnt_len;
	if (request == KFI_IOC_ACCEPT || request == KFI_IOC_REJECT)
		n.addrlen = n.addr = 0;
	if (chance(5))
		n.addrlen = any64();
	if (n.addrlen > sizeof(addr) && n.addr)
		n.addr = pointer(0);
	memcpy(addr, learnt[below(16)], sizeof(addr));
	if (!call(c, request, &n) && get && n.addr == (uintptr_t)addr && n.addrlen &&
	    n.addrlen <= sizeof(addr)) {
		learnt_len = n.addrlen;
		memcpy(learnt[below(16)], addr, n.addrlen);
	}
}

static void do_getname(struct context *c)
{
	name(c, KFI_IOC_GETNAME, chance(60) ? EP : PEP);
}

static void do_getpeer(struct context *c)
{
	name(c, KFI_IOC_GETPEER, EP);
}

static void do_setname(struct context *c)
{
	name(c, KFI_IOC_SETNAME, chance(50) ? EP : PEP);
}

static void do_connect(struct context *c)
{
	name(c, KFI_IOC_CONNECT, EP);
}

static void do_accept(struct context *c)
{
	name(c, KFI_IOC_ACCEPT, EP);
}

static void do_reject(struct context *c)
{
	name(c, KFI_IOC_REJECT, PEP);
}

static void do_shutdown(struct context *c)
{
	struct kfi_user_shutdown s = { .handle = handle(c, EP), .flags = chance(95) ? 0 : any64() };

	call(c, KFI_IOC_SHUTDOWN, &s);
}

static void do_read_event(struct context *c, uint32_t eq)
{
	static __thread struct kfi_user_info info;
	char data[512];
	struct kfi_user_event event = {
		.eq = eq,
		.flags = chance(90) ? 0 : flags_of(FI_PEEK),
		.len = chance(90) ? sizeof(data) : below(sizeof(data)),
		.buf = chance(97) ? (uintptr_t)data : pointer(512),
		.info = chance(97) ? (uintptr_t)&info : pointer(sizeof(info)),
		.info_size = chance(97) ? sizeof(info) : any64(),
	};

	if (event.info_size > sizeof(info))
		event.info = pointer(0);
	if (!call(c, KFI_IOC_EQ_READ, &event) && event.connreq)
		keep(c, CONNREQ, event.connreq);
}

static void do_eq_read(struct context *c)
{
	do_read_event(c, handle(c, EQ));
}

/* An endpoint with its own queue for one side of a connection */
static int connectable(struct context *c, int domain, int eq, const struct kfi_user_info *info,
		       uint32_t connreq)
{
	struct kfi_user_cq cq;
	int ep = raw_object(c->fd, KFI_IOC_ENDPOINT, domain, info, connreq);

	if (ep < 0 || raw_cq(c->fd, domain, 1 + below(64), &cq))
		return ep;
	keep(c, EP, ep);
	keep(c, CQ, cq.handle);
	raw_bind(c->fd, ep, cq.handle, FI_TRANSMIT | FI_RECV);
	raw_bind(c->fd, ep, eq, 0);
	raw_handle(c->fd, KFI_IOC_ENABLE, ep);
	return ep;
}

/* A connection of MSG endpoints: a listener, a call, the event, any answer */
static void do_connection(struct context *c)
{
	struct kfi_user_info *info = NULL;
	struct kfi_user_name n = { };
	unsigned char addr[KFI_USER_ADDR_MAX];
	unsigned int requests = c->given[CONNREQ];
	int try, fabric, domain, eq, pep;

	for (try = 0; try < info_count; try++)
		if (infos[try].ep.type == FI_EP_MSG)
			info = &infos[try];
	fabric = info ? raw_fabric(c->fd, info) : -1;
	if (fabric < 0)
		return;
	keep(c, FABRIC, fabric);
	domain = raw_object(c->fd, KFI_IOC_DOMAIN, fabric, info, 0);
	eq = raw_eq(c->fd, fabric);
	pep = raw_object(c->fd, KFI_IOC_PASSIVE_EP, fabric, info, 0);
	if (domain > 0)
		keep(c, DOMAIN, domain);
	if (eq > 0)
		keep(c, EQ, eq);
	if (pep < 0)
		return;
	keep(c, PEP, pep);
	raw_bind(c->fd, pep, eq, 0);
	do_listen(c);
	n.handle = pep;
	n.addr = (uintptr_t)addr;
	n.addrlen = sizeof(addr);
	if (raw_ioctl(c->fd, KFI_IOC_GETNAME, &n))
		return;
	memcpy(learnt[below(16)], addr, sizeof(addr));
	learnt_len = n.addrlen;
	n.handle = connectable(c, domain, eq, info, 0);
	if (raw_ioctl(c->fd, KFI_IOC_CONNECT, &n))
		return;
	for (try = 0; try < 20 && c->given[CONNREQ] == requests; try++) {
		usleep(500);
		do_read_event(c, eq);
	}
	if (c->given[CONNREQ] == requests)
		return;
	if (chance(20)) {
		do_reject(c);
	} else {
		connectable(c, domain, eq, info, c->handles[CONNREQ][requests % HANDLES]);
		do_accept(c);
	}
	for (try = 0; try < 4; try++)
		do_read_event(c, eq);
	do_getpeer(c);
	if (chance(50))
		do_shutdown(c);
}

static void do_eq_write(struct context *c)
{
	char data[300];
	struct kfi_user_event event = {
		.eq = handle(c, EQ),
		.event = chance(90) ? below(8) : any64(),
		.cookie = any64(),
		.data = any64(),
		.buf = chance(95) ? (uintptr_t)data : pointer(256),
		.len = chance(90) ? below(sizeof(data)) : any64(),
	};

	if (event.len > sizeof(data))
		event.buf = pointer(0);
	call(c, KFI_IOC_EQ_WRITE, &event);
}

/* ---- address vectors ---- */

static void do_insert(struct context *c)
{
	unsigned char addrs[8 * KFI_USER_ADDR_MAX];
	uint64_t fi_addrs[8];
	int32_t errs[8];
	uint32_t count = 1 + below(8), n;
	struct kfi_user_av_insert in = {
		.av = handle(c, AV),
		.count = count,
		.addrs = (uintptr_t)addrs,
		.fi_addrs = chance(80) ? (uintptr_t)fi_addrs : 0,
		.errs = chance(50) ? (uintptr_t)errs : 0,
		.addrs_size = count * learnt_len,
	};

	for (n = 0; n < count; n++)
		memcpy(addrs + n * learnt_len, learnt[below(16)], learnt_len);
	if (chance(10))
		in.addrs_size = any64();
	if (chance(10)) {
		in.count = any64();
		in.addrs = pointer(0);
		in.fi_addrs = pointer(0);
		in.errs = pointer(0);
	}
	call(c, KFI_IOC_AV_INSERT, &in);
}

static void do_insertsvc(struct context *c)
{
	char service[32];
	uint64_t fi_addrs[16];
	struct kfi_user_av_svc svc = {
		.av = handle(c, AV),
		.node = chance(95) ? (uintptr_t) "loop" : pointer(8),
		.service = chance(95) ? (uintptr_t)service : pointer(8),
		.nodecnt = chance(95) ? 1 : any64(),
		.svccnt = chance(80) ? 1 :
			  chance(80) ? below(17) :
				       any64(),
		.fi_addrs = chance(90) ? (uintptr_t)fi_addrs : pointer(128),
	};

	snprintf(service, sizeof(service), "%d", 1 + (int)below(100));
	if ((uint64_t)svc.nodecnt * svc.svccnt > 16)
		svc.fi_addrs = pointer(0);
	call(c, KFI_IOC_AV_INSERTSVC, &svc);
}

static void do_remove(struct context *c)
{
	uint64_t addrs[8] = { below(16), below(16), any64() };
	struct kfi_user_av_remove rm = { .av = handle(c, AV),
					 .count = chance(95) ? 1 + below(2) : any64(),
					 .fi_addrs = (uintptr_t)addrs };

	if (rm.count > 8)
		rm.fi_addrs = pointer(0);
	call(c, KFI_IOC_AV_REMOVE, &rm);
}

static void look(struct context *c, unsigned long request)
{
	unsigned char addr[KFI_USER_ADDR_MAX];
	char text[256];
	struct kfi_user_av_lookup l = {
		.av = handle(c, AV),
		.addrlen = chance(90) ? learnt_len : any64(),
		.fi_addr = chance(90) ? below(8) : any64(),
		.addr = chance(95) ? (uintptr_t)addr : pointer(64),
		.str = chance(95) ? (uintptr_t)text : pointer(64),
		.len = chance(90) ? below(sizeof(text) + 1) : any64(),
	};

	if (request == KFI_IOC_AV_LOOKUP)
		l.str = l.len = 0;
	memcpy(addr, learnt[below(16)], sizeof(addr));
	if (l.addrlen > sizeof(addr))
		l.addr = pointer(0);
	if (l.len > sizeof(text))
		l.str = pointer(0);
	call(c, request, &l);
}

static void do_lookup(struct context *c)
{
	look(c, KFI_IOC_AV_LOOKUP);
}

static void do_straddr(struct context *c)
{
	look(c, KFI_IOC_AV_STRADDR);
}

/* ---- waiting and counting ---- */

static void do_wait(struct context *c)
{
	struct kfi_user_wait wait = {
		.handle = handle(c, chance(60) ? CQ :
				    chance(50) ? EQ :
						 CNTR),
		.timeout_ms = chance(95) ? (int)below(3) : -1,
		.threshold = chance(80) ? below(4) : any64(),
	};

	/* A wait without a time limit ends by a signal, see interrupter(). */
	call(c, KFI_IOC_WAIT, &wait);
}

static void do_count(struct context *c)
{
	struct kfi_user_count_change change = { .cntr = handle(c, CNTR),
						.op = chance(95) ? below(4) : any64(),
						.value = any64() };

	call(c, KFI_IOC_COUNT, &change);
}

static void do_query(struct context *c)
{
	struct kfi_user_query_atomic query = {
		.handle = handle(c, chance(50) ? EP : DOMAIN),
		.datatype = chance(90) ? below(12) : any64(),
		.op = chance(90) ? below(20) : any64(),
		.flags = chance(60) ? 0 :
				      flags_of(chance(50) ? FI_FETCH_ATOMIC : FI_COMPARE_ATOMIC),
	};

	call(c, KFI_IOC_QUERY_ATOMIC, &query);
}

static void do_cancel(struct context *c)
{
	struct kfi_user_cancel cancel = { .ep = handle(c, EP), .context = below(8) };

	call(c, KFI_IOC_CANCEL, &cancel);
}

/* ---- posting ---- */

/* A descriptor without errors, except that its buffer may be unmapped meanwhile */
static void sound(struct context *c, struct kfi_user_desc *d)
{
	memset(d, 0, sizeof(*d));
	d->opcode = below(KFI_USER_WRITE + 1);
	d->ep = c->given[READY] ? c->handles[READY][(c->given[READY] - 1) % HANDLES] : 0;
	d->flags = KFI_USER_COMPLETION;
	d->context = below(8);
	d->addr = d->opcode == KFI_USER_RECV || d->opcode == KFI_USER_TRECV ? FI_ADDR_UNSPEC : 0;
	d->tag = below(4);
	d->len = below(chance(60) ? 4096 : 1 << 17);
	d->buf = (uintptr_t)(chance(50) ? arena : steady) + below(ARENA - d->len);
	d->rma_addr = below(4096);
	d->rma_key = below(4);
}

static void descriptor(struct context *c, struct kfi_user_desc *d, struct kfi_user_iovec *iov,
		       struct kfi_user_rma *rma)
{
	uint64_t longest = chance(60) ? 4096 : chance(90) ? 1 << 17 : ARENA;
	int n;

	memset(d, 0, sizeof(*d));
	d->opcode = chance(98) ? below(KFI_USER_COMPARE_ATOMIC + 1) : any64();
	if (chance(30))
		d->opcode = below(2) ? KFI_USER_RECV : KFI_USER_TRECV;
	d->ep = handle(c, chance(85) ? READY : chance(80) ? EP : SRX);
	d->flags = KFI_USER_COMPLETION;
	if (chance(15))
		d->flags |= 1ULL << below(64);
	if (chance(5))
		d->flags = any64();
	if (d->opcode == KFI_USER_RECV && chance(10))
		d->flags |= FI_MULTI_RECV;
	d->context = below(8);
	d->addr = chance(80) ? 0 : chance(60) ? below(4) : chance(70) ? FI_ADDR_UNSPEC : any64();
	d->tag = below(4);
	d->ignore = chance(80) ? 0 : any64();
	d->data = any64();
	d->len = chance(97) ? below(longest) : any64();
	d->buf = pointer(d->len);
	d->rma_addr = chance(60) ? below(longest) : pointer(d->len);
	d->rma_key = chance(90) ? below(64) : any64();
	if (d->opcode >= KFI_USER_ATOMIC) {
		d->len = chance(90) ? 8 * (1 + below(8)) : any64();
		d->atomic_op = chance(95) ? below(20) : any64();
		d->atomic_type = chance(95) ? below(10) : any64();
		d->result = pointer(64);
		d->compare = pointer(64);
	}
	if (chance(15)) {
		d->iov_count = chance(95) ? 1 + below(KFI_USER_IOV_MAX) : any64();
		iovec(iov, KFI_USER_IOV_MAX, longest);
		d->buf = chance(97) ? (uintptr_t)iov : pointer(256);
		for (d->len = 0, n = 0; n < d->iov_count && n < KFI_USER_IOV_MAX; n++)
			d->len += iov[n].len;
		if (chance(5))
			d->len = any64();
	}
	if (chance(10)) {
		d->rma_count = chance(95) ? 1 + below(4) : any64();
		for (n = 0; n < 4; n++)
			rma[n] = (struct kfi_user_rma){ below(4096), d->len / 4, below(64) };
		d->rma_addr = chance(97) ? (uintptr_t)rma : pointer(256);
	}
	if (chance(1))
		((unsigned char *)d)[below(sizeof(*d))] = raw_next(&dice);
}

static void do_post(struct context *c)
{
	static __thread struct kfi_user_desc descs[16];
	static __thread struct kfi_user_iovec iov[16][KFI_USER_IOV_MAX];
	static __thread struct kfi_user_rma rma[16][4];
	uint32_t count = 1 + below(chance(80) ? 4 : 16), n;
	struct kfi_user_post post = { .descs = (uintptr_t)descs, .count = count };

	for (n = 0; n < count; n++) {
		if (chance(70))
			sound(c, &descs[n]);
		else
			descriptor(c, &descs[n], iov[n], rma[n]);
	}
	if (chance(3)) {
		post.count = any64();
		post.descs = pointer(0);
	}
	if (!call(c, KFI_IOC_POST, &post))
		__atomic_add_fetch(&counts->posted, post.posted, __ATOMIC_RELAXED);
}
