package fakenft_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/dumps/nftcalls"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
)

func list(t *testing.T, tools *fakenft.Tools, args ...string) string {
	t.Helper()
	out, err := tools.Exec().Command("nft", append(args, "list", "ruleset")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func load(t *testing.T, name, text string) *fakenft.Tools {
	t.Helper()
	tools := fakenft.New(fakenft.Options{})
	require.NoError(t, tools.Load(name, strings.NewReader(text), nil))
	return tools
}

// What a listing that was loaded from JSON lacks: nft 1.0.6 reads no comments of sets and maps. A set in a rule that has become one
// element, since two of it touched, is no set when it is read again.
var (
	single     = regexp.MustCompile(`(addr )\{ ([^ ,:]+) \}`)
	singleJSON = regexp.MustCompile(`"right": \{"set": \[(\{"prefix": \{[^}]*\}\}|\{"range": \[[^\]]*\]\})\]\}\}\}`)

	handle  = regexp.MustCompile(`, "handle": \d+|"handle": \d+, `)
	comment = regexp.MustCompile(`(?m)^(\{"(?:set|map)": .*?)"comment": "[^"]*", ("flags|"map|"elem|"timeout)`)
)

// objects are what a listing in JSON has, without handles, a line each.
func objects(json string) string {
	json = singleJSON.ReplaceAllString(json, `"right": $1}}`)
	return comment.ReplaceAllString(strings.ReplaceAll(handle.ReplaceAllString(json, ""), `}, {"`, "},\n{\""), "$1$2")
}

// TestListingsAreLoaded takes both listings of what kube-proxy wrote: nft itself does not take the one in JSON again, which has maps before
// the chains that they lead to. It has no comments of tables and chains either.
func TestListingsAreLoaded(t *testing.T) {
	files, err := nftcalls.Files()
	require.NoError(t, err)
	stages, err := fs.Glob(files, "*/ruleset.nft")
	require.NoError(t, err)
	require.NotEmpty(t, stages)
	for _, file := range sample.Some(t, stages, 3) {
		text, err := fs.ReadFile(files, file)
		require.NoError(t, err)
		json, err := fs.ReadFile(files, strings.TrimSuffix(file, ".nft")+".json")
		require.NoError(t, err)
		assert.Equal(t, single.ReplaceAllString(string(text), "$1$2"), list(t, load(t, file, string(text))), file)
		assert.Equal(t, objects(string(json)), objects(list(t, load(t, file, string(json)), "-j")), file)
	}
}

// TestRulesKeepTheirHandles: traces and remedies name a rule by it.
func TestRulesKeepTheirHandles(t *testing.T) {
	files, err := nftcalls.Files()
	require.NoError(t, err)
	rules := func(listing string) (lines []string) {
		for line := range strings.Lines(listing) {
			if strings.Contains(line, "# handle ") && !strings.Contains(line, "{ # handle ") {
				lines = append(lines, single.ReplaceAllString(line, "$1$2"))
			}
		}
		return lines
	}
	for _, stage := range []string{"01-first-full-sync", "13-topology-full-sync", "26-many-endpoints"} {
		text, err := fs.ReadFile(files, stage+"/ruleset-handles.nft")
		require.NoError(t, err)
		want := rules(string(text))
		require.NotEmpty(t, want)
		assert.Equal(t, want, rules(list(t, load(t, stage, string(text)), "-a")), stage)
		json, err := fs.ReadFile(files, stage+"/ruleset.json")
		require.NoError(t, err)
		assert.Equal(t, want, rules(list(t, load(t, stage, string(json)), "-a")), stage)
	}
	tools := load(t, "l", "table ip t { # handle 3\n\tchain c { # handle 1\n\t\taccept # handle 9\n\t\tdrop\n\t}\n}\n")
	out, err := tools.Exec().Command("nft", "add", "rule", "ip", "t", "c", "return").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, list(t, tools, "-a"), "\t\taccept # handle 9\n\t\tdrop # handle 10\n\t\treturn # handle 11\n")
	// A rule that tells none has not that of the next rule, nor that of the next chain.
	tools = load(t, "l", "table ip t {\n\tchain c {\n\t\taccept\n\t\tdrop # handle 9\n\t\treturn\n\t}\n\tchain d { # handle 30\n\t}\n}\n")
	assert.Contains(t, list(t, tools, "-a"), "\t\taccept # handle 3\n\t\tdrop # handle 9\n\t\treturn # handle 10\n")
}

func TestListingsThatCannotBeLoaded(t *testing.T) {
	for text, want := range map[string]string{
		"table ip t {\n\tchain c {\n\t\tnosuch 1\n\t}\n}\n":     "l:3:",
		"table ip t {\n\tchain c {\n\t\tjump nowhere\n\t}\n}\n": "l:3:8: the kernel refuses this: no such file or directory",
		`{"nftables": [{"table": {"family": "ip"}}]}`:           "l:1:4: Object item not found: name",
		`{"tables": []}`: `is no listing of nft: it has no list "nftables"`,
		`{"nftables": [`: "unexpected end of JSON input",
		"table ip t {\n\tchain c {\n\t\tip saddr 1.2.3.4 drop\n":            "l:4:",
		"table ip t {\n\tchain c {\n\t\txt match \"recent\" drop\n\t}\n}\n": "l:3:",
	} {
		tools := fakenft.New(fakenft.Options{})
		err := tools.Load("l", strings.NewReader(text), nil)
		require.ErrorContains(t, err, want, text)
		assert.Empty(t, tools.Kernel().State().Tables())
	}
}

func TestTablesAreLeftOut(t *testing.T) {
	tools := fakenft.New(fakenft.Options{})
	const two = "table ip a {\n}\ntable ip6 b {\n}\n"
	require.NoError(t, tools.Load("two", strings.NewReader(two),
		func(n fakenft.TableName) bool { return n == fakenft.TableNameOf("ip6", "b") }))
	assert.Equal(t, "table ip a {\n}\n", list(t, tools))
}

// TestNewerListingsAreLoaded: a line of a chain that nft after 1.0.6 prints, and what 1.0.6 prints of it.
func TestNewerListingsAreLoaded(t *testing.T) {
	for newer, want := range map[string]string{
		"type nat hook output priority dstnat; policy accept;":      "type nat hook output priority -100; policy accept;",
		"type nat hook output priority dstnat + 5; policy accept;":  "type nat hook output priority -95; policy accept;",
		"type nat hook input priority srcnat; policy accept;":       "type nat hook input priority 100; policy accept;",
		"type nat hook forward priority dstnat; policy accept;":     "", // no version has it
		"type filter hook input priority dstnat; policy accept;":    "",
		"type nat hook prerouting priority dstnat; policy accept;":  "type nat hook prerouting priority dstnat; policy accept;",
		"type nat hook postrouting priority srcnat; policy accept;": "type nat hook postrouting priority srcnat; policy accept;",
	} {
		text := func(line string) string { return "table inet t {\n\tchain c {\n\t\t" + line + "\n\t}\n}\n" }
		if want == "" {
			err := fakenft.New(fakenft.Options{}).Load("l", strings.NewReader(text(newer)), nil)
			require.ErrorContains(t, err, "l:3:", newer)
			continue
		}
		assert.Equal(t, text(want), list(t, load(t, "l", text(newer))), newer)
	}
}

// Objects of a listing are what they were on the kernel that has them: it may have more helpers, and know a security module.
func TestObjectsOfAnotherKernelAreLoaded(t *testing.T) {
	text := `table ip t {
	ct helper a {
		type "of-a-program" protocol tcp
		l3proto ip
	}

	secmark b {
		"system_u:object_r:x_t:s0"
	}
}
`
	assert.Equal(t, text, list(t, load(t, "listing", text)))
}
