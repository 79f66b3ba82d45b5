package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// survivor is a mutant that nobody needs to notice.
type survivor struct {
	// Mutant is its name, or begins the names of several, up to a star.
	Mutant string `json:"mutant"`
	// Because says why.
	Because string `json:"because"`
}

// argued is the list of survivors.
type argued struct {
	// Survivors are equivalent to the proxier as it is: what it does is the same. They count in no score.
	Survivors []survivor `json:"survivors"`
	// Unjudged do something else, but not to a packet, nor to what else the generator and the oracle look at. A second
	// score by these two leaves them out; the tests must notice them.
	Unjudged []survivor `json:"unjudged"`
}

// readArgued reads the list.
func readArgued(file string) (*argued, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list argued
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &list, nil
}

// has says whether one of the list is the mutant.
func has(list []survivor, name string) bool {
	return slices.ContainsFunc(list, func(s survivor) bool { return s.names(name) })
}

func (s *survivor) names(name string) bool {
	if begin, several := strings.CutSuffix(s.Mutant, "*"); several {
		return strings.HasPrefix(name, begin)
	}
	return s.Mutant == name
}
