package ipset

// portElements are the elements of bitmap:port.
func (s *set) portElements(m *message, test bool, f func(key) error) error {
	o := &s.options
	if m.port < o.minPort || m.port > o.maxPort {
		return errRange
	}
	if err := s.refuse(m); err != nil {
		return err
	}
	from, to := m.port, m.port
	if m.has(optPortTo) && !test {
		from, to = min(from, m.portTo), max(from, m.portTo)
	}
	if from < o.minPort || to > o.maxPort {
		return errRange
	}
	for port := int(from); port <= int(to); port++ {
		if err := f(key{port: uint16(port)}); err != nil {
			return err
		}
	}
	return nil
}

// bitmapElements are the elements of bitmap:ip and bitmap:ip,mac.
func (s *set) bitmapElements(m *message, test bool, f func(key) error) error {
	first, last := number(s.options.first), number(s.options.last)
	from := number(m.addr)
	if err := s.refuse(m); err != nil {
		return err
	}
	if from < first || from > last {
		return errRange
	}
	to := from
	switch {
	case test || s.kind == bitmapIPMAC:
	case m.has(optIPTo):
		to = number(m.addrTo)
		from, to = min(from, to), max(from, to)
	case m.has(optCIDR) && m.cidr == 0:
		return errCIDR
	case m.has(optCIDR):
		from, to = network(from, m.cidr)
	}
	if from < first || to > last {
		return errRange
	}
	step := uint32(1)
	if s.options.netMask != 0 {
		step = 1 << (32 - s.options.netMask)
	}
	for at := from; int32(to-at) >= 0; at += step {
		addr := s.cut(address(at))
		if err := f(key{addr: addr, bits: uint8(addr.BitLen())}); err != nil {
			return err
		}
	}
	return nil
}
