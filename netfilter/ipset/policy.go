package ipset

// The kernel refuses a message with an attribute that the type has no use for. A command line cannot set one, but what the shell has left
// in the message can.

// sentWith are the options that are sent with create, and with add, del and test.
var (
	sentWithCreate = optionsOf(optIP, optIPTo, optCIDR, optPort, optPortTo, optTimeout, optProto, optFlags, optInitVal, optHashSize,
		optMaxElem, optNetMask, optBucketSize, optSize, optBitMask)
	sentWithElement = optionsOf(optIP, optIPTo, optCIDR, optPort, optPortTo, optTimeout, optProto, optFlags, optMAC, optMember,
		optReference, optIP2, optCIDR2, optIP2To, optIface, optPackets, optBytes, optEntryComment, optSKBMark, optSKBPrio, optSKBQueue)
)

// createPolicy are the options of create that the kernel takes.
func (k *setType) createPolicy() optionSet {
	s := optionsOf(optTimeout, optFlags)
	switch k {
	case listSet:
		return s | optionsOf(optSize)
	case bitmapPort:
		return s | optionsOf(optPort, optPortTo)
	case bitmapIP:
		return s | optionsOf(optIP, optIPTo, optCIDR, optNetMask)
	case bitmapIPMAC:
		return s | optionsOf(optIP, optIPTo, optCIDR)
	}
	s |= optionsOf(optHashSize, optMaxElem, optInitVal, optBucketSize)
	if k.masked() {
		s |= optionsOf(optNetMask, optBitMask)
	}
	if k != hashIP {
		s |= optionsOf(optProto)
	}
	return s
}

// elementPolicy are the options of add, del and test that the kernel takes.
func (k *setType) elementPolicy() optionSet {
	s := optionsOf(optTimeout, optPackets, optBytes, optEntryComment, optSKBMark, optSKBPrio, optSKBQueue)
	for i, p := range k.parts {
		switch p {
		case partIP, partNet:
			s |= optionsOf([]option{optIP, optIP2, optIP2}[i])
		case partPort:
			s |= optionsOf(optPort, optPortTo)
		case partMAC:
			s |= optionsOf(optMAC)
		case partIface:
			s |= optionsOf(optIface)
		case partSet:
			s |= optionsOf(optMember, optReference, optFlags)
		}
	}
	if s.has(optIP) && k != bitmapIPMAC {
		s |= optionsOf(optIPTo, optCIDR)
	}
	if k.hash() && k.has(partPort) {
		s |= optionsOf(optProto)
	}
	if k.nets() {
		s |= optionsOf(optFlags)
	}
	if k.net2() {
		s |= optionsOf(optCIDR2, optIP2To)
	}
	return s
}

// checkCreate is the kernel's refusal of what the type has no use for.
func (m *message) checkCreate() error {
	if m.given&sentWithCreate&^m.kind.createPolicy() != 0 {
		return errProtocol
	}
	return nil
}

// checkElement is the same for an element.
func (s *set) checkElement(m *message) error {
	if m.given&sentWithElement&^s.kind.elementPolicy() != 0 {
		return errProtocol
	}
	return nil
}

// checkParts is the kernel's refusal of an element that lacks a part.
func (s *set) checkParts(m *message) error {
	if s.kind.needed(cmdAdd)&^m.given&^optionsOf(optProto) != 0 {
		return errProtocol
	}
	return nil
}
