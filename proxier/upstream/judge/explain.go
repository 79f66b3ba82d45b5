package judge

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// Explanation is a reason for a difference that is kube-proxy's.
type Explanation struct {
	Name string
	// Why says what kube-proxy does and what this project does instead.
	Why string
	// Case is the file, below testdata, that shows it.
	Case string
	// since is the first minor version of kube-proxy that does it; 0: all that can be linked.
	since int
	// until is the last one; 0: it still does.
	until int
	// Chance says that it depends on the order of a Go map in kube-proxy whether there is a difference.
	Chance bool
	// restoring is set if only mode iptables does it, native if only mode nftables does.
	restoring, native bool
	// everywhere is set if the difference is there in every state, whatever the objects are.
	everywhere bool
	holds      func(r *run, d *Difference, all []*Difference) bool
}

// allExplanations are those of all modes and versions.
func allExplanations() []Explanation { return append(nativeExplanations(), explanations()...) }

// Explanations are all that are known of the kube-proxy that is linked in a mode, in the order in which they are tried.
func Explanations(mode cases.Mode) []Explanation {
	return slices.DeleteFunc(allExplanations(), func(e Explanation) bool {
		other := e.restoring && mode == cases.NFTables || e.native && mode != cases.NFTables
		return e.since > peers.Minor || e.until != 0 && e.until < peers.Minor || other
	})
}

// chanceTries is how often the case of an explanation that rests on chance is run at most until it shows its difference.
const chanceTries = 20

// Show runs the case that belongs to the explanation. The report counts one run.
func (e *Explanation) Show(c *cases.Case, report *Report) (differences []*Difference, err error) {
	differences, err = Run(c, report)
	for tries := 1; e.Chance && tries < chanceTries && err == nil && !Shown(e.Name, differences); tries++ {
		differences, err = Run(c, NewReport())
	}
	return differences, err
}

// Allows says whether a case that shows this explanation may show another one as well: one that is there in every state, and in the case of
// an explanation of all modes one of mode nftables.
func (e *Explanation) Allows(name string) bool {
	return slices.ContainsFunc(allExplanations(), func(other Explanation) bool {
		return other.Name == name && (other.everywhere || other.native && !e.native)
	})
}

// Shown says whether an explanation is among those of differences.
func Shown(name string, differences []*Difference) bool {
	return slices.ContainsFunc(differences, func(d *Difference) bool { return d.Explanation == name })
}

// explain returns the name of the first explanation that holds, "" for none. all are the differences of the family after this sync.
func (r *run) explain(d *Difference, all []*Difference) string {
	for _, e := range Explanations(r.settings.Mode) {
		if e.holds(r, d, all) {
			return e.Name
		}
	}
	return ""
}

// history is what the explanations have to know of earlier steps.
type history struct {
	// large is set, for a family, if kube-proxy has taken the cluster for a large one.
	large map[v1.IPFamily]bool
	// unused is set, for a family, if chains may be there that no packet comes to: the last sync was one of a large cluster, or failed
	// after one.
	unused map[v1.IPFamily]bool
	// hours counts those that have passed.
	hours int
	// relabelled is set if a slice has changed its service.
	relabelled bool
	// failing is set if the tools fail in the next sync.
	failing bool
	// foreign is how many more events kube-proxy has counted since the last sync than ours, of slices of other proxies.
	foreign int
	// wasFull is set if the last sync was a full one of kube-proxy.
	wasFull map[v1.IPFamily]bool
}

func newHistory() history {
	return history{large: map[v1.IPFamily]bool{}, unused: map[v1.IPFamily]bool{}, wasFull: map[v1.IPFamily]bool{}}
}

func (h *history) note(step *cases.Step, before *cases.Objects) {
	if step.Do == cases.Hour {
		h.hours++
	}
	key := cases.Key(step.DeleteSlice)
	if step.Slice != nil {
		key = types.NamespacedName{Namespace: step.Slice.Namespace, Name: step.Slice.Name}
	}
	old := before.Slices[key]
	h.foreign += counted(old, step.Slice, peers.FollowsSlice) - counted(old, step.Slice, peers.BothFollow)
	if step.Slice != nil && old != nil && old.Labels[discovery.LabelServiceName] != step.Slice.Labels[discovery.LabelServiceName] {
		h.relabelled = true
	}
}

// counted is how many events a proxier counts for this change of a slice, if it gets only slices that it follows: one, if the slice that
// it gets belongs to a service and has addresses.
func counted(before, after *discovery.EndpointSlice, follows func(*discovery.EndpointSlice) bool) int {
	shown := after
	if !follows(after) {
		shown = before
	}
	if !follows(shown) || shown.Labels[discovery.LabelServiceName] == "" || shown.AddressType == discovery.AddressTypeFQDN {
		return 0
	}
	return 1
}

// countsForeign says whether kube-proxy counts as many more events as there were of slices of other proxies.
func (h *history) countsForeign(d *Difference) bool {
	ours, _ := strconv.Atoi(d.ours[0])
	theirs, _ := strconv.Atoi(d.theirs[0])
	return theirs-ours == h.foreign
}

// freshTries is how often chance may decide otherwise. A map of two has one of its orders in one of eight times only, and a state
// may have more than one such map.
const freshTries = 1000

// freshAgrees says whether a kube-proxy that starts now, at most so many of them, and that gets the slices as correct has them,
// writes the rules that ours has written and counts as many: then kube-proxy's own answer depends on what was
// before, on chance, or on what is taken away there.
func (r *run) freshAgrees(all []*Difference, tries int) bool {
	if len(all) > 0 && all[0].fresh != nil {
		return *all[0].fresh
	}
	agrees := false
	for range tries {
		if agrees = r.freshRulesEqual(all[0].family); agrees {
			break
		}
	}
	for _, d := range all {
		d.fresh = &agrees
	}
	return agrees
}

func (r *run) freshRulesEqual(family v1.IPFamily) bool {
	settings := *r.settings
	settings.Real = false
	fresh, err := peers.NewKubeProxy(&settings)
	if err != nil {
		return false
	}
	told, _ := correct(r.objects, family)
	deliver(r.objects, told, fresh)
	fresh.Sync()
	if !maps.Equal(totals(r.ours, family), totals(fresh, family)) {
		return false
	}
	ours, theirs := rulesOfPeer(settings.Mode, r.ours, family, true), rulesOfPeer(settings.Mode, fresh, family, true)
	for name := range ours {
		if _, ok := theirs[name]; !ok && (len(ours[name]) == 0 || strings.HasSuffix(name, foreign)) {
			delete(ours, name) // a table that something else has used, or somebody else's chain
		}
	}
	if r.settings.NoRandomFully {
		for name := range theirs {
			for i := range theirs[name] {
				of := &theirs[name][i]
				of.text, of.bare = withoutRandomFully(of.text), withoutRandomFully(of.bare)
			}
		}
	}
	end, err := r.besideFresh(fresh)
	if err != nil {
		return false
	}
	defer end()
	_, differences := compareRules(ours, theirs)
	return !slices.ContainsFunc(differences, func(d *Difference) bool {
		return !d.onlyComments && !r.explainedNatively(d, family, differences)
	})
}

// explainedNatively says whether a difference of rules is one of mode nftables, whatever was before.
func (r *run) explainedNatively(d *Difference, family v1.IPFamily, all []*Difference) bool {
	d.family = family
	return r.settings.Mode == cases.NFTables &&
		slices.ContainsFunc(Explanations(cases.NFTables), func(e Explanation) bool { return e.native && e.holds(r, d, all) })
}

// deliver tells a proxier that starts of all objects, with these slices.
func deliver(objects *cases.Objects, all []*discovery.EndpointSlice, to cases.Handler) {
	to.OnZone(objects.Zone)
	for _, service := range objects.SortedServices() {
		to.OnServiceAdd(service)
	}
	for _, slice := range all {
		to.OnEndpointSliceAdd(slice)
	}
}

// totals are the numbers of rules that a proxier says it has.
func totals(peer interface {
	Metrics(family v1.IPFamily) map[string]float64
}, family v1.IPFamily) map[string]float64 {
	values := peer.Metrics(family)
	maps.DeleteFunc(values, func(name string, _ float64) bool { return !strings.Contains(name, "iptables_total") })
	return values
}

// ambiguousDuplicates says whether two slices of a service hold the same address and port with other data, none of which
// wins by being the only one that does not terminate.
func ambiguousDuplicates(objects *cases.Objects) bool {
	type place struct {
		service types.NamespacedName
		port    string
		addr    string
	}
	type found struct {
		slice    string
		endpoint discovery.Endpoint
	}
	seen := map[place][]found{}
	for _, slice := range objects.SortedSlices() {
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discovery.LabelServiceName]}
		for _, port := range slice.Ports {
			if port.Port == nil || port.Name == nil {
				continue
			}
			for i := range slice.Endpoints {
				e := slice.Endpoints[i]
				at := place{service, *port.Name + "/" + string(*port.Protocol), parse(e.Addresses[0]).String()}
				e.Addresses, e.Zone = nil, nil
				for _, other := range seen[at] {
					if other.slice != slice.Name && !reflect.DeepEqual(other.endpoint, e) {
						return true
					}
				}
				seen[at] = append(seen[at], found{slice.Name, e})
			}
		}
	}
	return false
}

// countsUnreachable says whether kube-proxy counts more services without local endpoints than ours by no more than there are
// ports that external traffic cannot reach.
func (r *run) countsUnreachable(d *Difference) bool {
	if !strings.Contains(d.where, "no_local_endpoints_total{traffic_policy=external}") {
		return false
	}
	ours, _ := strconv.Atoi(d.ours[0])
	theirs, _ := strconv.Atoi(d.theirs[0])
	return theirs > ours && theirs-ours <= unreachablePorts(r.objects, d.family)
}

// unreachablePorts counts the service ports with externalTrafficPolicy Local that have no address or port for external traffic
// of the family.
func unreachablePorts(objects *cases.Objects, family v1.IPFamily) int {
	count := 0
	for _, service := range objects.SortedServices() {
		texts := slices.Clone(service.Spec.ExternalIPs)
		for i := range service.Status.LoadBalancer.Ingress {
			if ingress := &service.Status.LoadBalancer.Ingress[i]; isVIP(ingress) {
				texts = append(texts, ingress.IP)
			}
		}
		local := peers.FollowsService(service) && service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
		reachable := slices.ContainsFunc(texts, func(text string) bool {
			addr := parse(text)
			return addr.IsValid() && addr.Is6() == (family == v1.IPv6Protocol)
		})
		for i := range service.Spec.Ports {
			if local && !reachable && service.Spec.Ports[i].NodePort == 0 {
				count++
			}
		}
	}
	return count
}
