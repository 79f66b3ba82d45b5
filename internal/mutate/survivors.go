package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// survivor is a mutant that nobody needs to notice.
type survivor struct {
	// Mutant is its name, or begins the names of several, up to a star.
	Mutant string `json:"mutant"`
	// Because says why nobody can, or why it does not matter.
	Because string `json:"because"`
}

// argued is the list of survivors.
type argued struct {
	Survivors []survivor `json:"survivors"`
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

// has says whether the mutant is argued.
func (a *argued) has(name string) bool {
	for i := range a.Survivors {
		if a.Survivors[i].names(name) {
			return true
		}
	}
	return false
}

func (s *survivor) names(name string) bool {
	if begin, several := strings.CutSuffix(s.Mutant, "*"); several {
		return strings.HasPrefix(name, begin)
	}
	return s.Mutant == name
}
