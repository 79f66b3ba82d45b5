package ipset

// toolError is an error in the words of the ipset tool.
type toolError string

func (e toolError) Error() string { return string(e) }

// The refusals of the kernel, in the words of the tool.
var (
	errMissing          = toolError("The set with the given name does not exist")
	errExists           = toolError("Set cannot be created: set with the same name already exists")
	errBusy             = toolError("Set cannot be destroyed: it is in use by a kernel component")
	errRenameBusy       = toolError("Set cannot be renamed: it is in use by another system")
	errRenameExists     = toolError("Set cannot be renamed: a set with the new name already exists")
	errSwapMissing      = toolError("Sets cannot be swapped: the second set does not exist")
	errSwapType         = toolError("The sets cannot be swapped: their type does not match")
	errElemExists       = toolError("Element cannot be added to the set: it's already added")
	errElemMissing      = toolError("Element cannot be deleted from the set: it's not added")
	errFull             = toolError("Hash is full, cannot add more elements")
	errNull             = toolError("Null-valued element, cannot be stored in a hash type of set")
	errCIDR             = toolError("The value of the CIDR parameter of the IP address is invalid")
	errRange            = toolError("Element is out of the range of the set")
	errRangeUnsupported = toolError(`Range is not supported in the "net" component of the element`)
	errNestedList       = toolError("Sets with list:set type cannot be added to the set.")
	errNoRef            = toolError("The set to which you referred with 'before' or 'after' does not exist.")
	errRefNotAdded      = toolError("The set to which you referred with 'before' or 'after' is not added to the set.")
	errProtocol         = toolError("Kernel error received: ipset protocol error")
	errNoModule         = toolError("Kernel error received: set type not supported")
	errNoMemory         = toolError("Kernel error received: Cannot allocate memory")
	errFamily           = toolError("Protocol family not supported by the set type")
	errNetMask          = toolError("The value of the netmask parameter is invalid")
	errRangeTooLong     = toolError("The range you specified exceeds the size limit of the set type")
	errNoProtocol       = toolError("Invalid protocol specified")
	errWholeRange       = toolError("Invalid range, covers the whole address space")
	errInvalid          = toolError("Kernel error received: Invalid argument")
	errNoElemSet        = toolError("Set to be added/deleted/tested as element does not exist.")
	errNoTimeout        = toolError("Timeout cannot be used: set was created without timeout support")
	errNoCounters       = toolError("Packet/byte counters cannot be used: set was created without counter support")
	errNoSKBInfo        = toolError("Skbinfo mapping cannot be used: set was created without skbinfo support")
	errNoComment        = toolError("Comment cannot be used: set was created without comment support")
)
