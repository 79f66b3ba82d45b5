package ipset

import "fmt"

// toolError is an error in the words of the ipset tool.
type toolError struct {
	msg   string
	usage bool // the tool says how to get help and exits with 2
}

func (e *toolError) Error() string { return e.msg }

func errorf(format string, args ...any) error { return &toolError{msg: fmt.Sprintf(format, args...)} }

func usagef(format string, args ...any) error {
	return &toolError{msg: fmt.Sprintf(format, args...), usage: true}
}

// The refusals of the kernel, in the words of the tool.
var (
	errMissing          = errorf("The set with the given name does not exist")
	errExists           = errorf("Set cannot be created: set with the same name already exists")
	errBusy             = errorf("Set cannot be destroyed: it is in use by a kernel component")
	errRenameBusy       = errorf("Set cannot be renamed: it is in use by another system")
	errRenameExists     = errorf("Set cannot be renamed: a set with the new name already exists")
	errSwapMissing      = errorf("Sets cannot be swapped: the second set does not exist")
	errSwapType         = errorf("The sets cannot be swapped: their type does not match")
	errElemExists       = errorf("Element cannot be added to the set: it's already added")
	errElemMissing      = errorf("Element cannot be deleted from the set: it's not added")
	errFull             = errorf("Hash is full, cannot add more elements")
	errNull             = errorf("Null-valued element, cannot be stored in a hash type of set")
	errCIDR             = errorf("The value of the CIDR parameter of the IP address is invalid")
	errRange            = errorf("Element is out of the range of the set")
	errRangeUnsupported = errorf(`Range is not supported in the "net" component of the element`)
	errNestedList       = errorf("Sets with list:set type cannot be added to the set.")
	errNoRef            = errorf("The set to which you referred with 'before' or 'after' does not exist.")
	errRefNotAdded      = errorf("The set to which you referred with 'before' or 'after' is not added to the set.")
	errProtocol         = errorf("Kernel error received: ipset protocol error")
	errNoModule         = errorf("Kernel error received: set type not supported")
	errNoMemory         = errorf("Kernel error received: Cannot allocate memory")
	errFamily           = errorf("Protocol family not supported by the set type")
	errNetMask          = errorf("The value of the netmask parameter is invalid")
	errRangeTooLong     = errorf("The range you specified exceeds the size limit of the set type")
	errNoProtocol       = errorf("Invalid protocol specified")
	errWholeRange       = errorf("Invalid range, covers the whole address space")
	errInvalid          = errorf("Kernel error received: Invalid argument")
	errNoElemSet        = errorf("Set to be added/deleted/tested as element does not exist.")
	errNoTimeout        = errorf("Timeout cannot be used: set was created without timeout support")
	errNoCounters       = errorf("Packet/byte counters cannot be used: set was created without counter support")
	errNoSKBInfo        = errorf("Skbinfo mapping cannot be used: set was created without skbinfo support")
	errNoComment        = errorf("Comment cannot be used: set was created without comment support")
)
