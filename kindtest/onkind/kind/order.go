package kind

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// Order puts scenarios with the same configuration of their proxies after one another, and leaves them in their order otherwise: to give
// a proxy another configuration takes longer than most scenarios.
func Order(all []*scenarios.Scenario) []*scenarios.Scenario {
	keys := map[*scenarios.Scenario]string{}
	for _, s := range all {
		keys[s] = configurations(s)
	}
	first := map[string]int{}
	for i, s := range all {
		if _, known := first[keys[s]]; !known {
			first[keys[s]] = i
		}
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b *scenarios.Scenario) int { return first[keys[a]] - first[keys[b]] })
	return out
}

// configurations are the configurations of a scenario's nodes as a text, without the nodes' names.
func configurations(s *scenarios.Scenario) string {
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return ""
	}
	texts := []string{fmt.Sprintf("flushed: %v", c.Flushed)}
	for i := range c.Nodes {
		config := c.Configs[c.Nodes[i].Name].DeepCopy()
		config.HostnameOverride = ""
		text, err := json.Marshal(config)
		if err != nil {
			return ""
		}
		if !slices.Contains(texts, string(text)) {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "\n")
}
