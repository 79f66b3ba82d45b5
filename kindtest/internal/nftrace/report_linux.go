package nftrace

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Kinds of messages of nf_tables.
const (
	kindNewRule = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWRULE
	kindGetRule = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE
	kindTrace   = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_TRACE
)

// Join lets the socket receive the traces of its namespace.
func Join(s *nfnetlink.Socket) error {
	return unix.SetsockoptInt(s.FD(), unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, unix.NFNLGRP_NFTRACE)
}

// Rules calls back for each rule of a family (AF_INET, AF_INET6), chain by chain and in a chain's order. Traces name a rule by its handle.
func Rules(s *nfnetlink.Socket, family uint8, each func(table, chain string, handle uint64)) error {
	return s.Request(kindGetRule, unix.NLM_F_DUMP, family, 0, nil, func(m nfnetlink.Message) error {
		if m.Kind != kindNewRule || m.Family != family {
			return nil
		}
		var table, chain string
		var handle uint64
		for a, err := range nlattr.All(m.Attributes) {
			if err != nil {
				return err
			}
			switch a.Type {
			case unix.NFTA_RULE_TABLE:
				table = a.Text()
			case unix.NFTA_RULE_CHAIN:
				chain = a.Text()
			case unix.NFTA_RULE_HANDLE:
				if handle, err = a.Uint64(); err != nil {
					return err
				}
			}
		}
		each(table, chain, handle)
		return nil
	})
}

// Report is one step of a packet.
type Report struct {
	// PacketID is the kernel's number of the packet. A packet that the rules send in answer has another one.
	PacketID uint32
	// Family is that of the table (NFPROTO_*).
	Family       uint8
	Table, Chain string
	// Kind is empty for what is neither a rule nor a policy nor a return.
	Kind packetsim.StepKind
	// Handle is that of the rule. A step at a rule without one is the end of the chain.
	Handle uint64
	// Verdict is what a rule said, also by an element of a map. A translation says Accept, a REJECT says Drop.
	Verdict expr.Verdict
	// Header is the IP header and what the kernel shows behind it; nil but in the first report on each chain of a hook.
	Header []byte
	// In and Out are numbers of devices, 0 for none; Mark is the packet's.
	In, Out, Mark uint32
}

// kinds are the steps by NFTA_TRACE_TYPE.
var kinds = map[uint32]packetsim.StepKind{
	unix.NFT_TRACETYPE_POLICY: packetsim.StepPolicy, unix.NFT_TRACETYPE_RETURN: packetsim.StepReturn,
	unix.NFT_TRACETYPE_RULE: packetsim.StepRule,
}

// Parse reads a trace; false for other messages.
func Parse(m nfnetlink.Message) (r Report, isTrace bool, err error) {
	if m.Kind != kindTrace {
		return r, false, nil
	}
	r.Family = m.Family
	for a, err := range nlattr.All(m.Attributes) {
		if err == nil {
			err = r.take(a)
		}
		if err != nil {
			return r, false, fmt.Errorf("trace: %w", err)
		}
	}
	return r, true, nil
}

// take takes in an attribute. The transport header comes after that of IP.
func (r *Report) take(a nlattr.Attribute) (err error) {
	switch a.Type {
	case unix.NFTA_TRACE_VERDICT:
		r.Verdict, err = verdict(a.Value)
	case unix.NFTA_TRACE_TABLE:
		r.Table = a.Text()
	case unix.NFTA_TRACE_CHAIN:
		r.Chain = a.Text()
	case unix.NFTA_TRACE_RULE_HANDLE:
		r.Handle, err = a.Uint64()
	case unix.NFTA_TRACE_TYPE:
		var kind uint32
		kind, err = a.Uint32()
		r.Kind = kinds[kind]
	case unix.NFTA_TRACE_ID:
		r.PacketID, err = a.Uint32()
	case unix.NFTA_TRACE_NETWORK_HEADER:
		r.Header = slices.Clone(a.Value)
	case unix.NFTA_TRACE_TRANSPORT_HEADER:
		if r.Header == nil {
			return errors.New("a transport header without one of IP")
		}
		r.Header = append(r.Header, a.Value...)
	case unix.NFTA_TRACE_IIF:
		r.In, err = a.Uint32()
	case unix.NFTA_TRACE_OIF:
		r.Out, err = a.Uint32()
	case unix.NFTA_TRACE_MARK:
		r.Mark, err = a.Uint32()
	}
	return err
}

// verdict reads the attributes of a verdict. Its code is a number with a sign.
func verdict(data []byte) (v expr.Verdict, err error) {
	for a, err := range nlattr.All(data) {
		if err != nil {
			return v, err
		}
		switch a.Type {
		case unix.NFTA_VERDICT_CODE:
			code, err := a.Uint32()
			if err != nil {
				return v, err
			}
			v.Code = expr.Code(int32(code))
		case unix.NFTA_VERDICT_CHAIN:
			v.Chain = a.Text()
		}
	}
	return v, nil
}
