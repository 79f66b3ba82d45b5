package gen

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

// values makes names, ports, addresses and times the plainest ones that will do.
func (s *shrinking) values() {
	s.spellings()
	s.numbers()
	s.names()
	for _, d := range []string{"1s", "30s", "1m", "1h"} {
		for i := range s.listAt("steps") {
			if p := (ddmin.Path{"steps", i, "advance"}); ddmin.At(s.tree, p) != nil {
				s.try(ddmin.Edit(s.tree, p, func(any) any { return d }))
			}
		}
	}
}

// spellings makes addresses and ranges be written as everybody writes them, all of them or each alone.
func (s *shrinking) spellings() {
	all := map[string]string{}
	mapped(s.tree, "", func(_ string, v any) any {
		if word, ok := v.(string); ok && plainSpelling(word) != word {
			all[word] = plainSpelling(word)
		}
		return v
	})
	if len(all) == 0 || s.try(renamed(s.tree, all)) {
		return
	}
	for _, word := range slices.Sorted(maps.Keys(all)) {
		s.try(renamed(s.tree, map[string]string{word: all[word]}))
	}
}

// plainSpelling is an address or a range without leading zeros, blanks and IPv6 around IPv4; any other word as it is.
func plainSpelling(word string) string {
	bare := strings.TrimSpace(word)
	if a, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(bare)); ok {
		return a.Unmap().String()
	}
	if _, network, err := netutils.ParseCIDRSloppy(bare); err == nil {
		a, _ := netip.AddrFromSlice(network.IP)
		ones, bits := network.Mask.Size()
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()-(bits-ones)).String()
	}
	return word
}

// numbers makes ports plain, each of them wherever it is.
func (s *shrinking) numbers() {
	for _, key := range []string{"port", "targetPort", "nodePort", "healthCheckNodePort"} {
		plain := map[string]int{"port": 80, "targetPort": 80, "nodePort": 30001, "healthCheckNodePort": 32000}[key]
		for _, number := range s.numbersOf(key) {
			if number == plain || key == "targetPort" {
				continue
			}
			s.try(mapped(s.tree, "", func(k string, v any) any {
				if k == key && v == number {
					return plain
				}
				return v
			}))
		}
	}
}

// numbersOf are the numbers that a key has anywhere.
func (s *shrinking) numbersOf(key string) []int {
	var out []int
	mapped(s.tree, "", func(k string, v any) any {
		if n, ok := v.(int); ok && k == key && !slices.Contains(out, n) {
			out = append(out, n)
		}
		return v
	})
	slices.Sort(out)
	return out
}

// names makes addresses those that are counted from the first, and services' names the first ones.
func (s *shrinking) names() {
	var words []string
	mapped(s.tree, "", func(_ string, v any) any {
		if word, ok := v.(string); ok && !slices.Contains(words, word) {
			words = append(words, word)
		}
		return v
	})
	slices.Sort(words)
	taken := map[string]bool{} // plain words that are there
	for _, plain := range plainWords() {
		if slices.Contains(words, plain.to) {
			taken[plain.to] = true
			continue
		}
		for _, word := range words {
			if !taken[word] && plain.instead(word) && s.try(renamed(s.tree, plain.words(word))) {
				words = append(words, plain.to)
				taken[plain.to] = true
				break
			}
		}
	}
}

// plainWord is a word that may stand instead of others of its kind.
type plainWord struct {
	to      string
	instead func(word string) bool
	// words are what is renamed with it.
	words func(word string) map[string]string
}

func plainWords() []plainWord {
	var out []plainWord
	alone := func(to string) func(string) map[string]string {
		return func(word string) map[string]string { return map[string]string{word: to} }
	}
	address := func(to string, like func(i int) string) {
		known := map[string]bool{}
		for i := range 256 {
			known[like(i)] = true
		}
		out = append(out, plainWord{to: to, words: alone(to), instead: func(word string) bool { return known[word] && word != to }})
	}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		for node := 1; node <= 3; node++ {
			for i := range 3 {
				address(podAddress(family, node, firstPod+i), func(n int) string { return podAddress(family, node, n) })
			}
		}
		for i := range 2 {
			address(serviceIP(family, 1+i), func(n int) string { return serviceIP(family, n) })
			address(externalIP(family, 1+i), func(n int) string { return externalIP(family, n) })
			address(balancerIP(family, 21+i), func(n int) string { return balancerIP(family, n) })
		}
	}
	for _, f := range []string{"4", "6"} {
		ofService := func(word, name string) bool { return strings.HasPrefix(word, name+"-v"+f+"-") }
		for _, name := range serviceNames {
			to := fmt.Sprintf("%s-v%s-1", name, f)
			out = append(out, plainWord{to: to, words: alone(to), instead: func(word string) bool {
				isFirst := name == serviceNames[0] && slices.ContainsFunc(serviceNames, func(other string) bool { return ofService(word, other) })
				return word != to && (isFirst || ofService(word, name))
			}})
		}
	}
	for i, name := range serviceNames[:2] {
		out = append(out, plainWord{
			to:      name,
			instead: func(word string) bool { return slices.Index(serviceNames, word) > i },
			words: func(word string) map[string]string {
				all := map[string]string{word: name}
				for _, f := range []string{"4", "6"} {
					for n := 1; n <= 4; n++ {
						all[fmt.Sprintf("%s-v%s-%d", word, f, n)] = fmt.Sprintf("%s-v%s-%d", name, f, n)
					}
				}
				return all
			},
		})
	}
	return out
}
