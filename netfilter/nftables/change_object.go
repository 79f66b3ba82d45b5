package nftables

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/persist"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func (t *tableEdit) objectPlace(handle uint64) persist.Place {
	return t.objectList.Search(func(o *Object) bool { return o.Handle < handle })
}

func (tx *transaction) addObject(c *AddObject) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Object.Name, PartName)
	if f != nil {
		return f
	}
	key := objectKey(c.Object.Type, c.Object.Name)
	if entry := t.objects.Ref(key); entry != nil {
		if c.Exclusive {
			return refuse(syscall.EEXIST, PartName)
		}
		if quota, is := c.Object.Value.(*expr.Quota); is && quota.Used() > quota.Bytes {
			return refuse(syscall.EINVAL, PartWhole)
		}
		t.updateObject(entry, c)
		return nil
	}
	value := c.Object.Value
	if opaque, is := value.(*expr.Opaque); is && !c.Elsewhere {
		taken, errno := takeOpaque(c.Family, c.Object.Type, opaque)
		if errno != 0 {
			return refuse(errno, PartWhole)
		}
		value = taken
	}
	if quota, is := value.(*expr.Quota); is && quota.Used() > quota.Bytes {
		return refuse(syscall.EINVAL, PartWhole)
	}
	if _, is := value.(*expr.Synproxy); is && c.Family != IPv4 && c.Family != IPv6 && c.Family != Inet {
		return refuse(syscall.EPROTO, PartWhole)
	}
	if limit, is := value.(*expr.Limit); is {
		taken, errno := takeLimit(limit)
		if errno != 0 {
			return refuse(errno, PartWhole)
		}
		value = taken
	}
	own := &Object{ObjectSpec: c.Object, Handle: t.nextHandle()}
	own.Value = copyOf(value)
	t.objects.Put(key, objectEntry{object: own})
	t.objectList.Append(own)
	tx.changed = true
	if c.Notify != nil {
		c.Notify(t.Table, own)
	}
	return nil
}

// updateObject adds an object that is there: a quota gets its new limit (nft_quota_obj_update), a synproxy is what it is told to be
// (nft_synproxy_obj_update), all others stay as they are.
func (t *tableEdit) updateObject(entry *objectEntry, c *AddObject) {
	old := entry.object
	own := *old
	switch is := c.Object.Value.(type) {
	case *expr.Quota:
		value := *old.Value.(*expr.Quota)
		value.Bytes, value.Over = is.Bytes, is.Over
		own.Value = &value
	case *expr.Synproxy:
		own.Value = copyOf(is)
	default:
		return
	}
	entry.object = &own
	t.objectList.Set(t.objectPlace(own.Handle), &own)
	t.tx.changed = true
	if c.Notify != nil {
		c.Notify(t.Table, &own)
	}
}

func (tx *transaction) deleteObject(c *DeleteObject) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Name, PartName)
	if f != nil {
		return f
	}
	part, key := PartName, objectKey(c.Type, c.Name)
	if c.Handle != 0 {
		part, key = PartHandle, ""
		if o, found := t.objectList.At(t.objectPlace(c.Handle)); found && o.Handle == c.Handle && o.Type == c.Type {
			key = objectKey(o.Type, o.Name)
		}
	}
	entry := t.objects.Ref(key)
	switch {
	case entry == nil && c.MayLack:
		return nil
	case entry == nil:
		return refuse(syscall.ENOENT, part)
	case entry.uses > 0:
		return refuse(syscall.EBUSY, part)
	}
	t.objectList.Remove(t.objectPlace(entry.object.Handle))
	t.objects.Remove(key)
	tx.changed = true
	return nil
}

// Reset sets a counter or what is used of a quota back to nothing (NFT_MSG_GETOBJ_RESET).
func (o *Object) Reset() {
	switch v := o.Value.(type) {
	case *expr.Counter:
		v.Take()
	case *expr.Quota:
		v.Consumed.Take()
	}
}
