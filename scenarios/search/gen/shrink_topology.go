package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

// nodes drops nodes with all that is on them, from the last to the first.
func (s *shrinking) nodes() {
	for n := nodeCount(s.tree); n > 1; n-- {
		count := nodeCount(s.tree)
		if n > count {
			continue
		}
		t := s.tree
		if n < count { // the last one takes its name and its addresses, so that these have no gap
			t = renamed(withoutNode(t, fmt.Sprintf("node%d", n), n, false), nodeWords(count, n))
		}
		s.try(withoutNode(t, fmt.Sprintf("node%d", count), count, true))
	}
	if count := nodeCount(s.tree); count > 1 {
		s.try(withoutNode(renamed(withoutNode(s.tree, "node1", 1, false), nodeWords(count, 1)), fmt.Sprintf("node%d", count), count, true))
	}
}

func nodeCount(t ddmin.Tree) int {
	switch v := ddmin.At(t, ddmin.Path{"topology", "nodes"}).(type) {
	case int:
		return v
	case []any:
		return len(v)
	}
	return 2 // as many as there are if a file does not say
}

// nodeWords call one node and what is on it as another.
func nodeWords(from, to int) map[string]string {
	words := map[string]string{fmt.Sprintf("node%d", from): fmt.Sprintf("node%d", to)}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		words[nodeAddress(family, from)] = nodeAddress(family, to)
		words[extraAddress(family, from)] = extraAddress(family, to)
		for pod := range 256 {
			words[podAddress(family, from, pod)] = podAddress(family, to, pod)
		}
	}
	return words
}

// withoutNode takes what is on a node, or about it alone, from the scenario; the last node itself as well.
func withoutNode(t ddmin.Tree, name string, number int, itself bool) ddmin.Tree {
	n := node{name: name, number: number}
	t = cleared(t, func(key string, list []any) []any {
		switch key {
		case "objects", "apply":
			out := make([]any, len(list))
			for i, o := range list {
				out[i] = withoutEndpointsOn(o, n)
			}
			return out
		case "steps":
			return slices.DeleteFunc(slices.Clone(list), func(step any) bool {
				return ddmin.At(step, ddmin.Path{"node", "name"}) == name || ddmin.At(step, ddmin.Path{"fault", "node"}) == name
			})
		case "hold", "sync", "restart":
			return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == name })
		}
		return list
	})
	for _, list := range []ddmin.Path{{"topology", "pods"}, {"iptables", "preload"}} {
		t = filtered(t, list, func(item any) bool {
			nodes, _ := ddmin.At(item, ddmin.Path{"nodes"}).([]any)
			return ddmin.At(item, ddmin.Path{"node"}) != name && !slices.Contains(nodes, any(name))
		})
	}
	if !itself {
		return t
	}
	return ddmin.Edit(t, ddmin.Path{"topology"}, func(v any) any {
		out := map[string]any{}
		if topology, ok := v.(map[string]any); ok {
			out = maps.Clone(topology)
		}
		if list, ok := out["nodes"].([]any); ok {
			out["nodes"] = list[:number-1]
		} else {
			out["nodes"] = number - 1
		}
		return out
	})
}

// filtered keeps items of a list, if it is there.
func filtered(t ddmin.Tree, list ddmin.Path, keep func(any) bool) ddmin.Tree {
	if _, ok := ddmin.At(t, list).([]any); !ok {
		return t
	}
	return ddmin.Edit(t, list, func(v any) any {
		return slices.DeleteFunc(slices.Clone(v.([]any)), func(item any) bool { return !keep(item) })
	})
}

func withoutEndpointsOn(object any, n node) any {
	return filtered(object, ddmin.Path{"endpoints"}, func(e any) bool {
		addresses, _ := ddmin.At(e, ddmin.Path{"addresses"}).([]any)
		for _, a := range addresses {
			if text := fmt.Sprint(a); strings.HasPrefix(text, strings.TrimSuffix(podAddress(corev1.IPv4Protocol, n.number, 0), "0")) ||
				strings.HasPrefix(text, strings.TrimSuffix(podAddress(corev1.IPv6Protocol, n.number, 0), "0")) ||
				text == nodeAddress(corev1.IPv4Protocol, n.number) || text == nodeAddress(corev1.IPv6Protocol, n.number) {
				return false
			}
		}
		return ddmin.At(e, ddmin.Path{"nodeName"}) != n.name
	})
}

// family leaves a cluster of both families one of them, IPv4 if that will do.
func (s *shrinking) family() {
	if ddmin.At(s.tree, ddmin.Path{"topology", "ipFamily"}) != "dual" {
		return
	}
	_ = s.try(onlyFamily(s.tree, corev1.IPv4Protocol)) || s.try(onlyFamily(s.tree, corev1.IPv6Protocol))
}

func onlyFamily(t ddmin.Tree, family corev1.IPFamily) ddmin.Tree {
	other := func(v any) bool {
		text, ok := v.(string)
		if !ok || text == string(corev1.IPv4Protocol) || text == string(corev1.IPv6Protocol) {
			return ok && text != string(family)
		}
		colons := strings.Count(text, ":")
		isAddress := colons > 1 || strings.Count(text, ".") == 3
		return isAddress && (colons > 1) != (family == corev1.IPv6Protocol)
	}
	t = familyParts(t, other).(map[string]any)
	return ddmin.Edit(t, ddmin.Path{"topology"}, func(v any) any {
		out := maps.Clone(v.(map[string]any))
		out["ipFamily"] = map[corev1.IPFamily]string{corev1.IPv4Protocol: "ipv4", corev1.IPv6Protocol: "ipv6"}[family]
		return out
	})
}

// familyParts takes the slices, preloads, addresses and families of another family from a tree.
func familyParts(t ddmin.Tree, other func(any) bool) any {
	switch v := t.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = familyParts(value, other)
		}
		if ips, ok := out["clusterIPs"].([]any); ok {
			if len(ips) == 0 {
				delete(out, "clusterIPs")
			} else {
				out["clusterIP"] = ips[0]
			}
		}
		if families, ok := out["ipFamilies"].([]any); ok && len(families) == 0 {
			delete(out, "ipFamilies")
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			gone := other(item) || other(ddmin.At(item, ddmin.Path{"ip"})) || other(ddmin.At(item, ddmin.Path{"addressType"}))
			if name, ok := ddmin.At(item, ddmin.Path{"family"}).(string); ok && ddmin.At(item, ddmin.Path{"save"}) != nil {
				gone = other("IP" + strings.TrimPrefix(name, "ip"))
			}
			if !gone {
				out = append(out, familyParts(item, other))
			}
		}
		if out == nil {
			return []any{}
		}
		return out
	}
	return t
}
