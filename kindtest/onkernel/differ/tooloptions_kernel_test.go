//go:build linux

package differ

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
)

// libraries is where Debian has the extensions of iptables.
const libraries = "/usr/lib/*/xtables/lib"

// TestKernelToolOptions holds the recorded options of extensions against this machine's tools: of every word in an extension's library
// and in its help the tools are asked whether it is an option. That takes a while; the flag -record has it done anew, and written
// down. Without it the recorded options are asked about, and no extension may be missing.
func TestKernelToolOptions(t *testing.T) {
	needKernel(t)
	a := &asking{ns: kerneltest.New(t)}
	if *record {
		text := "# What the extensions of iptables 1.8.9 read, recorded by TestKernelToolOptions: options, " +
			"and behind \"=\" words of the library.\n"
		for _, x := range a.extensions(t) {
			a.askForWords(&x, wordsIn(t, &x))
			text += x.record()
		}
		require.NoError(t, os.WriteFile("tooloptions.txt", []byte(text), 0o644))
		return
	}
	var names []string
	for _, x := range a.extensions(t) {
		names = append(names, x.name)
	}
	for _, x := range toolExtensions() {
		assert.Contains(t, names, x.name)
		asked := x
		asked.options = nil
		for _, o := range x.options {
			asked.options = append(asked.options, a.option(&x, o.name)...)
		}
		assert.Equal(t, x, asked)
	}
	assert.Len(t, toolExtensions(), len(names))
}

// asking asks the real tools.
type asking struct{ ns *kerneltest.Namespace }

// extensions are the extensions whose libraries are here, without their options.
func (a *asking) extensions(t *testing.T) []toolExtension {
	found := map[string]*toolExtension{}
	var names []string
	for _, prefix := range []struct {
		word     string
		families []netfilter.Family
	}{{"xt_", []netfilter.Family{netfilter.IPv4, netfilter.IPv6}}, {"ipt_", []netfilter.Family{netfilter.IPv4}}, {"ip6t_",
		[]netfilter.Family{netfilter.IPv6}}} {
		paths, err := filepath.Glob(libraries + prefix.word + "*.so")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".so"), "_")
			if found[name] == nil {
				found[name] = &toolExtension{name: name, target: name == strings.ToUpper(name) && name != "u32"}
				names = append(names, name)
			}
			found[name].families = append(found[name].families, prefix.families...)
		}
	}
	slices.Sort(names)
	var all []toolExtension
	for _, name := range names {
		if a.known(found[name]) {
			all = append(all, *found[name])
		}
	}
	return all
}

// ask runs a tool with words behind the extension's name, in a way that changes nothing, for each family that has it.
func (a *asking) ask(x *toolExtension, words ...string) string {
	said := ""
	for _, f := range x.families {
		argv := []string{tool("iptables", netfilter.Legacy, f), "-C", "NOPE", "-m", x.name}
		if x.target {
			argv[3] = "-j"
		}
		r := a.ns.Run(append(argv, words...), "")
		said += r.Stdout + r.Stderr
	}
	return said
}

// known says that the tools take the name for that of an extension: of some libraries it is none.
func (a *asking) known(x *toolExtension) bool {
	return !strings.Contains(a.ask(x, "-h"), "Couldn't load") && x.name != "standard" && x.name != "NAT"
}

// word is what may be an option or a value of one.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9_-]{0,30}`)

// wordsIn are the words in an extension's libraries that stand alone.
func wordsIn(t *testing.T, x *toolExtension) []string {
	paths, err := filepath.Glob(libraries + "*t_" + x.name + ".so")
	require.NoError(t, err)
	var words []string
	for _, path := range paths {
		code, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, text := range strings.Split(string(code), "\x00") {
			if len(text) > 1 && word.FindString(text) == text && !strings.HasPrefix(text, "GCC") {
				words = append(words, text)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// helpOption is an option in a help.
var helpOption = regexp.MustCompile(`--[a-z0-9-]+`)

// askForWords fills the extension with what of the words of its library, and of the options in its help, are options. The other words, and
// those of the help, are left as words.
func (a *asking) askForWords(x *toolExtension, words []string) {
	help := ""
	for _, part := range strings.Split(a.ask(x, "-h"), "print package version.")[1:] {
		help += part[:strings.Index(part+"Usage: ", "Usage: ")]
	}
	inHelp := helpOption.FindAllString(help, -1)
	candidates := slices.Clone(words)
	for _, option := range inHelp {
		candidates = append(candidates, strings.TrimLeft(option, "-"))
	}
	for _, w := range prose.FindAllString(help, -1) {
		words = append(words, strings.Trim(w, " ,|"))
	}
	slices.Sort(candidates)
	for _, name := range slices.Compact(candidates) {
		if strings.EqualFold(name, x.name) && !slices.Contains(inHelp, "--"+name) {
			continue // options may be cut short, and one may begin so
		}
		x.options = append(x.options, a.option(x, name)...)
	}
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		isOption := slices.ContainsFunc(x.options, func(o toolOption) bool { return o.name == w })
		if !isOption && !internal.MatchString(w) {
			x.words = append(x.words, w)
		}
	}
}

// prose is a word in a help.
var prose = regexp.MustCompile(`(?m)(^|[ ,|])[A-Za-z][A-Za-z0-9-]{2,20}`)

// internal are words of libraries that no user meets.
var internal = regexp.MustCompile(`^(xt|ipt|ip6t|libc|xtables|str|mem|v?s?n?printf|fprintf|sprintf|puts)|_|^.{1,2}$|^[A-Za-z0-9]{3}$|.{25}`)

// plain is an extension without options.
func plain(x *toolExtension) *toolExtension {
	return &toolExtension{name: "NOTRACK", target: true, families: x.families}
}

// option is the option of that name, none if the tools have none for the extension.
func (a *asking) option(x *toolExtension, name string) []toolOption {
	unknown := `unknown option "--` + name + `"`
	said := a.ask(x, "--"+name)
	switch {
	case strings.Count(said, unknown) == len(x.families) || slices.Contains(standardOptions, name) || name == "fragment":
		return nil // the latter is short for a flag of all rules
	case strings.Contains(a.ask(plain(x), "--"+name), unknown):
	case a.ask(x, "--"+name, "0x") == a.ask(plain(x), "--"+name, "0x"):
		return nil // it is short for one that all rules have
	}
	return []toolOption{{name: name, flag: !strings.Contains(said, "requires an argument")}}
}

// standardOptions are the long options of all rules and of commands.
var standardOptions = strings.Fields(
	"append delete check insert replace list list-rules flush zero new-chain delete-chain rename-chain policy " +
		"source destination src dst protocol in-interface jump table match numeric out-interface verbose wait wait-interval " +
		"exact fragments version " +
		"help line-numbers modprobe set-counters goto ipv4 ipv6")
