/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_witness.pml - policy quorum of kfi_mirror with two copies and a witness, the third node: it stores generations and votes,
 * but gets no write, is never written for a resynchronisation, and is never promoted. The other rules, the conditions, and what
 * is not modelled, are those of mirror_quorum.pml.
 *
 * The rules of a witness, and the mutants without one of them:
 *
 * NO_STORES		what a witness has stored outlives its power: it votes by that
 * NO_DENIES		it gives no vote to a copy that lacks the generation which it has stored, nor takes that of such a primary
 * NO_COPY		it is not promoted, whatever it has stored
 */
#define WITNESS
#ifndef DEATHS
#define DEATHS	1
#endif
#ifdef NO_STORES
#define FORGETS
#endif
#ifdef NO_DENIES
#define TAKES_ANY
#endif
#ifdef NO_COPY
#define PROMOTED
#endif
#include "mirror_quorum.pml"
