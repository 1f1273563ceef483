/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA devices that are not mlx5: their numbers look alike and mean something else. */
#ifndef WQE_DUMP_OTHER_NIC_H
#define WQE_DUMP_OTHER_NIC_H

/*
 * The names of other NICs: X(name, mark) for drivers, whose own messages have the mark; N(name) for
 * devices, which others name with a number after it. Names with the same initial are next to each
 * other, and a name comes after those that it begins with. Source: the kernel's
 * drivers/infiniband/hw/ and sw/, and drivers/net/ethernet/ for those with a part there;
 * rdma-core's providers/ and kernel-boot/rdma_rename.c; mcxnex is Solaris' driver of older
 * ConnectX.
 */
#define OTHER_NICS(X, N)                                                                           \
	X("bnxt_en", "bnxt_en")                                                                    \
	X("bnxt_re", "bnxt_re")                                                                    \
	X("cxgb4", "cxgb4")                                                                        \
	X("efa", "efa 0000:")                                                                      \
	X("erdma", "erdma")                                                                        \
	X("hfi1", "hfi1")                                                                          \
	X("hns", "libhns")                                                                         \
	X("hns3", "hns3")                                                                          \
	X("hns_roce_hw_v2", "hns_roce")                                                            \
	X("iw_cxgb4", "cxgb4")                                                                     \
	X("i40e", "abnormal ae_id")                                                                \
	X("i40iw", "i40iw")                                                                        \
	X("ice", "abnormal ae_id")                                                                 \
	X("ionic", "ionic")                                                                        \
	X("irdma", "irdma")                                                                        \
	X("ib_mthca", "mthca")                                                                     \
	X("ib_qib", "ib_qib")                                                                      \
	X("mana", "mana_")                                                                         \
	X("mana_ib", "mana_ib")                                                                    \
	X("mlx4", "mlx4:")                                                                         \
	X("mlx4_core", "mlx4_")                                                                    \
	X("mlx4_en", "mlx4_")                                                                      \
	X("mlx4_ib", "mlx4_")                                                                      \
	X("mcxnex", "mcxnex")                                                                      \
	X("mthca", "mthca")                                                                        \
	X("ocrdma", "ocrdma")                                                                      \
	X("qedr", "qedr")                                                                          \
	N("rdmap")                                                                                 \
	X("rdma_rxe", "rdma_rxe")                                                                  \
	N("rxe")                                                                                   \
	X("siw", "siw")                                                                            \
	X("usnic", "usnic")                                                                        \
	X("vmw_pvrdma", "vmw_pvrdma")

/**
 * other_nic_in() - the other NIC that a line names
 * @text: the line
 *
 * Return: the driver or device that it names, or NULL.
 */
const char *other_nic_in(const char *text);

#endif
