package snapshot

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// splitListing takes a text apart into what nft has printed of tables, as text, and the rest. Both have the lines of the whole, so that
// the places of errors hold: the lines of the other are empty. A whole text in JSON is a listing.
func splitListing(text string) (listing, rest string) {
	if fakenft.IsListing(text) && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text, ""
	}
	var native, other strings.Builder
	within, some := false, false
	for line := range strings.Lines(text) {
		within = within || strings.HasPrefix(line, "table ") && nativeHead().MatchString(line)
		to, blank := &other, &native
		if within {
			to, blank, some = &native, &other, true
		}
		to.WriteString(line)
		blank.WriteByte('\n')
		within = within && !strings.HasPrefix(line, "}")
	}
	if !some {
		return "", text
	}
	return native.String(), other.String()
}

var (
	nativeHead   = lazyregexp.New(`^table (?:(?:ip|ip6|inet|arp|bridge|netdev) )?[^\s{]+ \{`)
	listedDevice = lazyregexp.New(`(?:\b(?:iif|oif) (?:!= )?"?|"(?:iif|oif)"\}\}, "right": ")([^\s"{},]+)`)
)

// devicesIn are the devices that a listing names by their numbers, which must be there for it.
func devicesIn(listing string) (names []string) {
	for line := range strings.Lines(listing) {
		if !strings.Contains(line, "iif") && !strings.Contains(line, "oif") {
			continue // most lines, and the expression takes its time
		}
		for _, m := range listedDevice().FindAllStringSubmatch(line, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// listing is what nft has printed of tables.
type listing struct {
	tools  *fakenft.Tools // that have loaded it
	places []fakekernel.RulePlace
	alone  bool // no rules of iptables stand beside it
}

// addListing gives a kernel the tables of a listing, on a host of hostOfRules with these devices beside RulesDevice.
func addListing(kernel *fakekernel.Kernel, name, text string, devices []string) (*listing, error) {
	names := []string{"lo", RulesDevice}
	for _, device := range devices {
		if !slices.Contains(names, device) {
			names = append(names, device)
		}
	}
	numbers := map[uint32]string{}
	for i, device := range names {
		numbers[uint32(i+1)] = device
	}
	tools := fakenft.New(fakenft.Options{Namespace: kernel.Namespace(), Devices: func() map[uint32]string { return numbers }})
	places, err := tools.LoadPlaces(name, strings.NewReader(text))
	return &listing{tools: tools, places: places}, err
}

// hasNative says whether a namespace has a table of nft that a family's packets may meet.
func hasNative(n *netfilter.Namespace, family netfilter.Family) bool {
	kernel := nftables.In(n)
	if kernel == nil {
		return false
	}
	own := nftables.IPv4
	if family == netfilter.IPv6 {
		own = nftables.IPv6
	}
	return slices.ContainsFunc(kernel.State().Tables(), func(t *nftables.Table) bool { return t.Family == own || t.Family == nftables.Inet })
}
