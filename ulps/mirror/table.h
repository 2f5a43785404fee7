/* SPDX-License-Identifier: GPL-2.0 */
/* table.h - the table of a mirror */
#ifndef KFM_TABLE_H
#define KFM_TABLE_H

struct kfm;

int kfm_table_read(struct kfm *m, unsigned int argc, char **argv);
void kfm_table_free(struct kfm *m);
bool kfm_tears(const struct kfm *m);

#endif /* KFM_TABLE_H */
