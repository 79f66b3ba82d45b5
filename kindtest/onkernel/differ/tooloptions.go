package differ

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/netfilter"
)

// toolExtension is a match or target of the real tools, as they describe it themselves, whatever the fake reads.
type toolExtension struct {
	target   bool
	name     string
	families []netfilter.Family
	options  []toolOption
	words    []string // that its library has, many of which are values of options
}

// toolOption is an option of an extension.
type toolOption struct {
	name string
	flag bool // takes no value
}

//go:embed tooloptions.txt
var recordedOptions string

// toolExtensions are the extensions that the real tools have, as TestKernelToolOptions has recorded them.
var toolExtensions = sync.OnceValue(func() []toolExtension {
	var all []toolExtension
	for line := range strings.Lines(recordedOptions) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case line[0] != '\t':
			x := toolExtension{target: words[0] == "target", name: words[1]}
			for _, digit := range words[2] {
				x.families = append(x.families, netfilter.Family(digit-'0'))
			}
			all = append(all, x)
		case words[0] == "=":
			all[len(all)-1].words = words[1:]
		default:
			x := &all[len(all)-1]
			x.options = append(x.options, toolOption{name: words[0], flag: words[1] == "flag"})
		}
	}
	return all
})

// record is the extension's lines in the file.
func (x *toolExtension) record() string {
	var b strings.Builder
	kind, families := "match", ""
	if x.target {
		kind = "target"
	}
	for _, f := range x.families {
		families += fmt.Sprint(f)
	}
	fmt.Fprintf(&b, "%s %s %s\n", kind, x.name, families)
	for _, o := range x.options {
		takes := "value"
		if o.flag {
			takes = "flag"
		}
		fmt.Fprintf(&b, "\t%s %s\n", o.name, takes)
	}
	if len(x.words) > 0 {
		fmt.Fprintf(&b, "\t= %s\n", strings.Join(x.words, " "))
	}
	return b.String()
}
