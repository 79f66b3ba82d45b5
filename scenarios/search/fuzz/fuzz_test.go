package fuzz

import (
	"math/rand/v2"
	"testing"

	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/gen/rapidgen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// FuzzCases lets Go's coverage-guided fuzzing make the draws of the generator.
func FuzzCases(f *testing.F) {
	cases := rapidgen.Scenario(gen.Options{})
	// A draw takes eight bytes, and nearly every case is drawn from so many. The engine would not come to them by itself, and most of what
	// it changes in longer inputs would be read by nobody.
	const length = 1 << 14
	for seed := range uint64(4) {
		random, input := rand.NewChaCha8([32]byte{byte(seed)}), make([]byte, length)
		_, _ = random.Read(input) // it has no errors
		f.Add(input)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := cases.Draw(t, "case")
		report, err := trial.Run(klog.NewContext(t.Context(), klog.New(nil)), s, trial.Options{})
		if err != nil {
			t.Fatalf("a case that cannot be run: %v", err)
		}
		for _, found := range report.Violations {
			t.Errorf("%s: want %s, got %s", found.Clause.Name, found.Want, found.Got)
		}
	}))
}
