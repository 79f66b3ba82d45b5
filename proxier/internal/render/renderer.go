package render

import (
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// Options are the facts about tools and kernel that change the spelling.
type Options struct {
	// MasqueradeMark is the bit of the packet mark that asks for masquerading.
	MasqueradeMark uint32
	// RandomFully is true if the tool knows MASQUERADE --random-fully.
	RandomFully bool
	// InvalidCounter and LocalhostCounter name nfacct objects that exist.
	// Empty: the object does not exist and no rule refers to it.
	InvalidCounter   string
	LocalhostCounter string
}

// Renderer keeps its buffers from one sync to the next. It is not safe for
// concurrent use.
type Renderer struct {
	options Options
	service serviceText
	hashes  []hashText
	stale   staleChains
	input   []byte
}

// New returns a Renderer for one address family.
func New(options Options) *Renderer {
	r := &Renderer{options: options}
	r.service.options = &r.options
	return r
}

// SetCounters names the nfacct objects that rules may refer to from now on.
func (r *Renderer) SetCounters(invalid, localhost string) {
	r.options.InvalidCounter = invalid
	r.options.LocalhostCounter = localhost
}

// Full returns the input of iptables-restore --noflush that fills in all
// chains and deletes the chains of service ports that are in savedNAT and no
// longer used. savedNAT is what iptables-save prints for table nat; empty
// deletes nothing. The result is valid until the next call.
func (r *Renderer) Full(m *model.Model, savedNAT []byte) []byte {
	r.hashes = appendHashes(r.hashes[:0], m)
	dst := r.buffer(m)

	dst = append(dst, "*filter\n"...)
	dst = appendChainLines(dst, servicesChain, externalServicesChain, forwardChain, nodePortsChain, proxyFirewallChain)
	dst = appendLocalnetGuard(dst, m)
	dst = r.appendEach(dst, m, (*serviceText).appendFilterEntries)
	dst = appendForward(dst, m, &r.options)
	dst = append(dst, "COMMIT\n"...)

	dst = append(dst, "*nat\n"...)
	dst = appendChainLines(dst, servicesChain, nodePortsChain, postroutingChain, markMasqChain)
	own := len(dst)
	dst = r.appendEach(dst, m, (*serviceText).appendChainLines)
	stale := r.stale.find(savedNAT, dst[own:])
	dst = appendChainLines(dst, stale...)
	dst = appendMasquerade(dst, &r.options)
	dst = r.appendEach(dst, m, (*serviceText).appendNATRules)
	dst = appendDeletions(dst, stale)
	dst = appendNodePortJumps(dst, m)
	dst = append(dst, "COMMIT\n"...)
	r.input = dst
	return dst
}

// appendEach writes one part of every service port.
func (r *Renderer) appendEach(dst []byte, m *model.Model, write func(*serviceText, []byte) []byte) []byte {
	r.service.model = m
	hashes := r.hashes
	for i := range m.Services {
		service := &m.Services[i]
		n := 1 + len(service.Endpoints.Reachable)
		r.service.set(service, hashes[:n])
		hashes = hashes[n:]
		dst = write(&r.service, dst)
	}
	return dst
}

// buffer returns the empty input buffer. It is made about as large as the
// input will be: growing a buffer of many megabytes costs more than to fill it.
func (r *Renderer) buffer(m *model.Model) []byte {
	const shared, perService, perEndpoint, namesPerEndpoint = 4 << 10, 600, 400, 3
	size := shared
	for i := range m.Services {
		service := &m.Services[i]
		name := &service.Port.Name
		length := len(name.Namespace) + len(name.Name) + len(name.Port)
		size += perService + len(service.Endpoints.Reachable)*(perEndpoint+namesPerEndpoint*length)
	}
	if cap(r.input) < size {
		r.input = make([]byte, 0, size)
	}
	return r.input[:0]
}
