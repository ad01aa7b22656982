// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of the rings of a session. A mapping belongs to an owner of the session. */
#include <linux/mm.h>

#include "../../compat.h"
#include "core.h"

#define UEP_RING_PAGES	(RDMA_EP_MAX_RINGS * sizeof(struct rdma_ep_cq_ring) / PAGE_SIZE)

static vm_fault_t uep_ring_fault(struct vm_fault *vmf)
{
	struct uep_owner *owner = vmf->vma->vm_private_data;
	struct uep_session *s = uep_owner_session(owner);
	bool lost = true;
	struct page *page = NULL;

	if (s) {
		mutex_lock(&s->ring_lock);
		lost = owner->rings_lost;
		page = lost ? NULL : xa_load(&s->ring_pages, vmf->pgoff);
		if (page)
			get_page(page);
		mutex_unlock(&s->ring_lock);
		uep_session_put(s);
	}
	if (lost)
		page = uep_ring_lost_page();
	/* No ring has been created there yet. */
	if (!page)
		return lost ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	vmf->page = page;
	return 0;
}

/* A mapping holds a reference to the file, and the file one to the owner. */
static const struct vm_operations_struct uep_ring_vm_ops = {
	.fault = uep_ring_fault,
};

/* Children do not inherit the mapping: it would keep the session alive without any use. */
int uep_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (uep_owner_ended(file->private_data))
		return -EBADF;
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC) ||
	    vma->vm_pgoff + vma_pages(vma) > UEP_RING_PAGES)
		return -EINVAL;
	ep_compat_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &uep_ring_vm_ops;
	return 0;
}
