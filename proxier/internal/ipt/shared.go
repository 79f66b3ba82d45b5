package ipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// appendChainLines creates the chains, or empties those that exist.
func appendChainLines(dst []byte, names ...string) []byte {
	for _, name := range names {
		dst = append(dst, ':')
		dst = append(dst, name...)
		dst = append(dst, " - [0:0]\n"...)
	}
	return dst
}

// appendLocalnetGuard keeps others away from loopback addresses while the
// kernel routes them (https://issue.k8s.io/90259). It ends the
// chain lines of table filter.
func appendLocalnetGuard(dst []byte, m *model.Model, o *options) []byte {
	if !m.GuardLoopback {
		return dst
	}
	o.Marks.Hit(mark.RenderLoopbackGuard)
	dst = appendChainLines(dst, firewallChain)
	return append(dst, "-A "+firewallChain+` -m comment --comment "block incoming localnet connections"`+
		" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP\n"...)
}

// appendForward fills in the chain that lets service traffic pass even if the
// policy of FORWARD is DROP.
func appendForward(dst []byte, m *model.Model, o *options) []byte {
	o.Marks.HitIf(mark.RenderPassInvalid, !m.DropInvalid)
	if m.DropInvalid {
		o.Marks.Hit(mark.RenderDropInvalid)
		dst = append(dst, "-A "+forwardChain+" -m conntrack --ctstate INVALID"...)
		if o.InvalidCounter != "" {
			dst = append(dst, " -m nfacct --nfacct-name "...)
			dst = append(dst, o.InvalidCounter...)
		}
		dst = append(dst, " -j DROP\n"...)
	}
	mark := markText(o.MasqueradeMark)
	dst = append(dst, "-A "+forwardChain+` -m comment --comment "kubernetes forwarding rules" -m mark --mark `...)
	dst = append(dst, mark+"/"+mark+" -j ACCEPT\n"...)
	return append(dst, "-A "+forwardChain+` -m comment --comment "kubernetes forwarding conntrack rule"`+
		" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"...)
}

// appendMasquerade fills in the chains that set the mark and act on it. The
// mark is cleared first, so that a packet that is encapsulated and passes
// POSTROUTING again is not masqueraded twice (https://issue.k8s.io/78948).
func appendMasquerade(dst []byte, o *options) []byte {
	mark := markText(o.MasqueradeMark)
	dst = append(dst, "-A "+postroutingChain+" -m mark ! --mark "+mark+"/"+mark+" -j RETURN\n"...)
	dst = append(dst, "-A "+postroutingChain+" -j MARK --xor-mark "+mark+"\n"...)
	dst = append(dst, "-A "+postroutingChain+` -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE`...)
	if o.RandomFully {
		dst = append(dst, " --random-fully"...)
	}
	return append(dst, "\n-A "+markMasqChain+" -j MARK --or-mark "+mark+"\n"...)
}

// appendNodePortJumps ends KUBE-SERVICES. Cluster IPs and external addresses
// must be matched before, since one of them may be an address of the node.
func appendNodePortJumps(dst []byte, ports model.NodePorts) []byte {
	const head = "-A " + servicesChain +
		` -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain"`
	const tail = " -j " + nodePortsChain + "\n"
	if !ports.All {
		for _, address := range ports.Addresses {
			dst = append(dst, head+" -d "...)
			dst = address.AppendTo(dst)
			dst = append(dst, tail...)
		}
		return dst
	}
	dst = append(dst, head+" -m addrtype --dst-type LOCAL"...)
	if ports.Except.IsValid() {
		dst = append(dst, " ! -d "...)
		dst = ports.Except.AppendTo(dst)
	}
	return append(dst, tail...)
}

func markText(mark uint32) string {
	return fmt.Sprintf("%#08x", mark)
}
