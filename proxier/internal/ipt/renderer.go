package ipt

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// options are the facts about tools and kernel that change the spelling.
type options struct {
	// MasqueradeMark is the bit of the packet mark that asks for masquerading.
	MasqueradeMark uint32
	// RandomFully is true if the tool knows MASQUERADE --random-fully.
	RandomFully bool
	// InvalidCounter and LocalhostCounter name nfacct objects that exist.
	// Empty: the object does not exist and no rule refers to it.
	InvalidCounter   string
	LocalhostCounter string
	// LargeCluster is a number of endpoints. With more of them, rules for
	// endpoints are written without comments, which are much of the text.
	LargeCluster int
	// Marks counts what is written. Nil: nobody counts.
	Marks *mark.Recorder
}

// renderer writes the input of iptables-restore for one address family. It
// remembers what the kernel holds after its last input, so that partialInput can
// leave out the rest. It is not safe for concurrent use.
type renderer struct {
	options options
	service serviceText
	// node is the Model of the last fullInput without its services.
	node model.Model
	book book
	// leftover are chains in the kernel that no rule leads to any longer.
	leftover leftover
	partial  partial
	// totals and rules are of what the tables hold once the last input is taken.
	totals model.Totals
	rules  ruleCounts
}

// newRenderer returns a renderer for one address family.
func newRenderer(options options) *renderer {
	r := &renderer{options: options, leftover: leftover{}}
	r.service.options = &r.options
	return r
}

// setCounters names the nfacct objects that rules may refer to from now on. A
// fullInput must follow.
func (r *renderer) setCounters(invalid, localhost string) {
	r.options.InvalidCounter = invalid
	r.options.LocalhostCounter = localhost
}

// large says whether the cluster is so large that comments are left out.
func (r *renderer) large() bool { return r.totals.Endpoints > r.options.LargeCluster }

// fullInput returns the input of iptables-restore --noflush that fills in all
// chains and deletes the chains of service ports that are in savedNAT and no
// longer used. savedNAT is what iptables-save prints for table nat; nil, where
// that is not known, deletes nothing.
func (r *renderer) fullInput(m *model.Model, savedNAT []byte) []byte {
	r.options.Marks.Hit(mark.RenderFull)
	if savedNAT == nil {
		r.options.Marks.Hit(mark.RenderStaleUnknown)
		r.leftover.addAll(r.book.entries)
	} else {
		clear(r.leftover)
	}
	hashes := r.open(m)
	dst := make([]byte, 0, r.inputSize(m))

	dst = append(dst, "*filter\n"...)
	dst = appendChainLines(dst, servicesChain, externalServicesChain, forwardChain, nodePortsChain, proxyFirewallChain)
	dst = appendLocalnetGuard(dst, m, &r.options)
	for _, e := range r.book.entries {
		dst = append(dst, e.lines.inFilter()...)
	}
	dst = appendForward(dst, m, &r.options)
	dst = append(dst, "COMMIT\n"...)

	dst = append(dst, "*nat\n"...)
	dst = appendChainLines(dst, servicesChain, nodePortsChain, postroutingChain, markMasqChain)
	own := len(dst)
	r.each(m, hashes, func(_ *entry) { dst = r.service.appendChainLines(dst) })
	stale := staleChains(savedNAT, dst[own:], len(hashes)+len(m.Services))
	r.options.Marks.HitIf(mark.RenderStaleDeleted, len(stale) > 0)
	dst = appendChainLines(dst, stale...)
	dst = appendMasquerade(dst, &r.options)
	r.each(m, hashes, func(e *entry) {
		dst = append(dst, e.lines.inNAT()...)
		start := len(dst)
		dst = r.service.appendChains(dst)
		e.rules = count(dst[start:])
	})
	dst = appendDeletions(dst, stale)
	dst = appendNodePortJumps(dst, m.NodePorts)
	dst = append(dst, "COMMIT\n"...)
	r.leftover.removeAll(r.book.entries)
	r.rules = countRules(dst)
	return dst
}

// open begins a new book. It returns what serviceText.set needs, for all
// service ports.
func (r *renderer) open(m *model.Model) []hashText {
	r.node = *m
	r.node.Services = nil
	r.service.model = &r.node
	r.partial = partial{}
	r.totals = model.Totals{}
	for i := range m.Services {
		r.totals.Endpoints += m.Services[i].Endpoints.Known
	}
	r.service.commented = !r.large()
	r.options.Marks.HitIf(mark.RenderWithoutComments, r.large())
	size := len(m.Services)
	for i := range m.Services {
		size += len(m.Services[i].Endpoints.Reachable)
	}
	hashes := make([]hashText, 0, size)
	var key []byte
	for i := range m.Services {
		hashes, key = appendHashes(hashes, key, &m.Services[i])
	}
	entries := make([]entry, len(m.Services))
	r.book.entries = slices.Grow(r.book.entries[:0], len(entries))
	for i := range entries {
		r.book.entries = append(r.book.entries, &entries[i])
	}
	lines := make([]byte, 0, len(m.Services)*linesPerService)
	r.each(m, hashes, func(e *entry) {
		lines = r.service.describe(e, lines)
		r.totals.Add(model.Totals{NoLocal: e.noLocal}, 1)
	})
	for i := range entries {
		size := entries[i].lines.ends[sharedChains-1]
		entries[i].lines.text, lines = lines[:size:size], lines[size:]
	}
	return hashes
}

// linesPerService is about what a service port has in the shared chains.
const linesPerService = 180

// describe fills in the entry from the decisions, and appends the lines in the
// shared chains to dst, which the entry then holds on to.
func (t *serviceText) describe(e *entry, dst []byte) []byte {
	e.name = &t.service.Port.Name
	e.hash = t.hash
	e.policies = policiesOf(t.service)
	e.style = endpointStyle{sticky: t.service.Port.SessionAffinityClientIP, commented: t.commented}
	e.endpoints = t.hashes[1:]
	e.known = t.service.Endpoints.Known
	e.noLocal = model.NoLocalOf(t.service)
	dst, e.lines = t.appendSharedLines(dst)
	return dst
}

// each chooses every service port in turn.
func (r *renderer) each(m *model.Model, hashes []hashText, visit func(*entry)) {
	for i := range m.Services {
		service := &m.Services[i]
		n := 1 + len(service.Endpoints.Reachable)
		r.service.set(service, hashes[:n:n])
		hashes = hashes[n:]
		visit(r.book.entries[i])
	}
}

// inputSize is about as large as the input will be: growing a buffer of many
// megabytes costs more than to fill it.
func (r *renderer) inputSize(m *model.Model) int {
	const shared, perService, perEndpoint, perComment, commentsPerEndpoint = 8 << 10, 600, 320, 24, 3
	size := shared
	for i := range m.Services {
		service := &m.Services[i]
		name := &service.Port.Name
		endpoint := perEndpoint
		if r.service.commented {
			endpoint += commentsPerEndpoint * (perComment + len(name.Namespace) + len(name.Name) + len(name.Port))
		}
		size += perService + len(service.Endpoints.Reachable)*endpoint
	}
	return size
}
