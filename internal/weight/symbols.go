package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// module is the code and data of one module in a program.
type module struct {
	name  string
	bytes int64
}

// randomPool is room for Go's generator of random numbers, which nm takes for data.
const randomPool = "crypto/internal/fips140/drbg.memory"

// heaviest are the modules that most of a program is, by what "go tool nm -size" prints: address, size, kind and name of each symbol.
func heaviest(symbols []byte, most int) []module {
	weights := map[string]int64{}
	for line := range strings.Lines(string(symbols)) {
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 4)
		if len(fields) < 4 || strings.EqualFold(fields[2], "b") || fields[3] == randomPool { // room that is empty takes none in the file
			continue
		}
		if size, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			weights[moduleOf(packageOf(fields[3]))] += size
		}
	}
	var out []module
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		out = append(out, module{name, weights[name]})
	}
	slices.SortStableFunc(out, func(a, b module) int { return cmp.Compare(b.bytes, a.bytes) })
	return out[:min(most, len(out))]
}

// packageOf is the package of a symbol: of an instance of a generic function, the package that has the function. "" is a symbol of the
// linker.
func packageOf(symbol string) string {
	symbol, _, _ = strings.Cut(symbol, "[go.shape") // the types that it is an instance for
	for _, kind := range []string{"type:.eq.", "type:.hash.", "type:", "go:itab.", "go:"} {
		if rest, ok := strings.CutPrefix(symbol, kind); ok {
			symbol = rest
			break
		}
	}
	symbol = strings.TrimLeft(symbol, "*[]")
	symbol, _, _ = strings.Cut(symbol, "[")
	symbol, _, _ = strings.Cut(symbol, ",")
	symbol, _, _ = strings.Cut(symbol, "(")
	slash := strings.LastIndexByte(symbol, '/') + 1
	dot := strings.IndexByte(symbol[slash:], '.')
	if dot < 0 {
		return ""
	}
	return strings.ReplaceAll(symbol[:slash+dot], "%2e", ".")
}

// moduleOf is the module of a package, as far as its path says: two words of k8s.io and three of github.com.
func moduleOf(name string) string {
	words := strings.Split(name, "/")
	switch {
	case name == "":
		return "of no package: types without a name, the linker's own"
	case name == "main" || strings.HasPrefix(name, "github.com/chainwalk/chainwalk"):
		return "chainwalk"
	case !strings.Contains(words[0], "."):
		return "Go's own packages"
	case words[0] == "github.com":
		return strings.Join(words[:min(3, len(words))], "/")
	}
	return strings.Join(words[:min(2, len(words))], "/")
}
