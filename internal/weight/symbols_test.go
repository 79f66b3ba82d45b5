package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"k8s.io/api/core/v1.(*Pod).Marshal":                                           "k8s.io/api/core/v1",
		"github.com/chainwalk/chainwalk/packetsim.(*Host).Verdict.func1":              "github.com/chainwalk/chainwalk/packetsim",
		"slices.SortFunc[go.shape.[]k8s.io/api/core/v1.Pod,go.shape.int]":             "slices",
		"k8s.io/client-go/gentype.(*Client[go.shape.*k8s.io/api/core/v1.Pod]).Update": "k8s.io/client-go/gentype",
		"type:.eq.k8s.io/api/core/v1.EnvVar":                                          "k8s.io/api/core/v1",
		"type:*k8s.io/api/core/v1.Pod":                                                "k8s.io/api/core/v1",
		"type:[]*k8s.io/api/core/v1.Pod":                                              "k8s.io/api/core/v1",
		"go:itab.*k8s.io/api/core/v1.Pod,k8s.io/apimachinery/pkg/runtime.Object":      "k8s.io/api/core/v1",
		"gopkg.in/yaml%2ev3.Unmarshal":                                                "gopkg.in/yaml.v3",
		"main.main":                                                                   "main",
		"type:func(int) string":                                                       "",
		"runtime.text":                                                                "runtime",
	} {
		assert.Equal(t, want, packageOf(symbol), symbol)
	}
}

func TestHeaviest(t *testing.T) {
	symbols := []byte(`  401000       100 T k8s.io/api/core/v1.(*Pod).Marshal
  401000        60 R type:*k8s.io/api/apps/v1.Deployment
  401000       300 t github.com/spf13/cobra.(*Command).Run
  401000        20 T main.main
  401000        30 T github.com/chainwalk/chainwalk/netfilter.New
  401000      9000 B crypto/internal/room
  401000      9000 D crypto/internal/fips140/drbg.memory
                   U fputs
`)
	assert.Equal(t, []module{{"github.com/spf13/cobra", 300}, {"k8s.io/api", 160}, {"chainwalk", 50}}, heaviest(symbols, 5))
	assert.Len(t, heaviest(symbols, 2), 2)
}
