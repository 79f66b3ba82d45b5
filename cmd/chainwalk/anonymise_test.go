package main

import (
	"bytes"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
)

// testKey makes dumps that are the same each time.
const testKey = "000102030405060708090a0b0c0d0e0f"

// keptDump is savedDump with the rules of a variant of the tools.
func keptDump(t *testing.T, tools string, nodes ...string) string {
	folder := savedDump(t, "", nodes...)
	for _, node := range nodes {
		text, err := os.ReadFile(filepath.Join(clusterDump, tools, node+".yaml"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "nodes", node+".yaml"), text, 0o600))
	}
	return folder
}

// anonymised is a folder with other names and addresses, by a key.
func anonymised(t *testing.T, folder, key string) string {
	out := filepath.Join(t.TempDir(), "anonymous")
	status, _, errOut := call("", "anonymise", "--key", key, folder, out)
	require.Equal(t, exitHeld, status, errOut)
	return out
}

// filesIn are the texts of all files of a folder, by their names in it.
func filesIn(t *testing.T, folder string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		out[name] = string(text)
		return err
	}))
	return out
}

// stays are names and addresses of the recorded cluster that an anonymous folder may have: those of every cluster, those that netfilter and
// the kernel have, and the words of Kubernetes that fields, labels and comments of kube-proxy are made of.
var stays = regexp.MustCompile(`^(?:default|kube-system|kube-proxy|eth0|lo|(?:0\.0\.0\.0|127\.[0-9.]+|::|::1|ff00::|fe80::)(?:/\d+)?` +
	`|255\.255\.255\.255|[f:]+|00:00:00:00:00:00|ct_state_invalid_dropped_pkts|localhost_nps_accepted_pkts|tcp|udp|sctp|external|true` +
	`|kubernetes|kubeconfig|headless|control-plane|linux|amd64|endpointslice-controller\.k8s\.io)$`)

var (
	addressLike = regexp.MustCompile(`(?:\d+\.\d+\.\d+\.\d+|[0-9a-fA-F]*:[0-9a-fA-F:]+)(?:/\d+)?`)
	hashLike    = regexp.MustCompile(`KUBE-(?:SVC|SVL|SEP|EXT|FW)-[A-Z0-9]{16}`)
	nameLike    = regexp.MustCompile(`"?([a-z0-9-]+)/([a-z0-9-]+)(?::([a-z0-9-]+))?`)
)

// secretsOf are the addresses and names of a cluster's files, found without any knowledge of what they mean: all that parse as an address
// in any string, and the values of fields that hold names.
func secretsOf(t *testing.T, files map[string]string) []string {
	secrets := map[string]bool{}
	var walk func(key string, n *yaml.Node)
	walk = func(key string, n *yaml.Node) {
		for i, child := range n.Content {
			switch {
			case n.Kind == yaml.MappingNode && i%2 == 1:
				walk(n.Content[i-1].Value, child)
			case n.Kind == yaml.MappingNode && (key == "labels" || key == "matchLabels" || key == "annotations"):
				secrets[n.Content[i+1].Value] = len(n.Content[i+1].Value) > 2
			case n.Kind != yaml.MappingNode:
				walk(key, child)
			}
		}
		if n.Kind != yaml.ScalarNode {
			return
		}
		for _, word := range addressLike.FindAllString(n.Value, -1) {
			a, err := netip.ParseAddr(strings.Trim(word, "."))
			p, wrong := netip.ParsePrefix(word)
			if err == nil {
				secrets[a.String()] = true
			} else if wrong == nil {
				secrets[p.Addr().String()] = true
			}
		}
		for _, word := range hashLike.FindAllString(n.Value, -1) {
			secrets[word] = true
		}
		if key == "save" {
			for comment := range strings.SplitSeq(n.Value, "--comment ") {
				for _, part := range nameLike.FindStringSubmatch(strings.SplitN(comment, " ", 2)[0]) {
					secrets[strings.Trim(part, `"`)] = true
				}
			}
		}
		switch key {
		case "name", "namespace", "hostname", "nodeName", "node", "zone", "uid", "resourceVersion", "externalName", "mac", "dev", "image",
			"containerID", "creationTimestamp", "time", "generateName", "podIP", "hostIP":
			secrets[n.Value] = n.Value != ""
		}
	}
	for name, text := range files {
		decoder := yaml.NewDecoder(strings.NewReader(text))
		for {
			var n yaml.Node
			if decoder.Decode(&n) != nil {
				break
			}
			walk("", &n)
		}
		secrets[strings.TrimSuffix(filepath.Base(name), ".yaml")] = strings.HasPrefix(name, "nodes")
	}
	var out []string
	for secret, is := range secrets {
		if is && !stays.MatchString(secret) && strings.Trim(secret, "0123456789") != "" {
			out = append(out, secret)
		}
	}
	slices.Sort(out)
	return out
}

// asWord says whether a text has a word, with nothing of a name before and behind it.
func asWord(text, word string) bool {
	part := func(b byte) bool {
		return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
	}
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !part(text[at-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = at + 1
	}
}

// translator rewrites a text about a cluster into one about its anonymous twin. It is no part of the program: nobody has the key.
type translator struct {
	*anonymise.Renamer
	words *regexp.Regexp
	pods  map[string]string // by name, the namespace
	nodes []string
	known []string // addresses that the cluster has: commands choose others for machines outside
}

func translatorOf(t *testing.T, folder, key string) *translator {
	k, err := anonymise.ParseKey(key)
	require.NoError(t, err)
	g, err := readKept(streams{}, &liveOptions{saved: folder})
	require.NoError(t, err)
	out := &translator{pods: map[string]string{}, known: secretsOf(t, filesIn(t, folder))}
	_, out.Renamer, err = anonymise.Of(k, dumpOf(g, ""))
	require.NoError(t, err)
	var words []string
	for _, o := range g.Objects {
		switch o.Object.(type) {
		case *corev1.Pod:
			out.pods[o.Meta().GetName()] = o.Meta().GetNamespace()
			words = append(words, o.Meta().GetName())
		case *corev1.Node:
			out.nodes = append(out.nodes, o.Meta().GetName())
			words = append(words, o.Meta().GetName())
		}
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	out.words = regexp.MustCompile(`KUBE-(?:SVC|SVL|SEP|EXT|FW)-[A-Z0-9]{16}|veth[0-9a-f]{8}|` +
		`(?:[0-9a-f]*:[0-9a-f:]+|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)(?:/[0-9]+)?|\bapp=(?:echo|nobody)\b|` +
		`-n shop\b|\b(?:default|kube-system|shop)/[a-z0-9-]+(?::[a-z-]+)?|` + strings.Join(words, "|"))
	return out
}

func (t *translator) text(old string) string {
	return t.words.ReplaceAllStringFunc(old, func(word string) string {
		a, err := netip.ParseAddr(word)
		p, wrong := netip.ParsePrefix(word)
		namespace, name, qualified := strings.Cut(word, "/")
		switch {
		case err == nil && !slices.Contains(t.known, word):
			return word
		case err == nil:
			return t.Address(a).String()
		case wrong == nil:
			return t.Prefix(p).String()
		case strings.HasPrefix(word, "app="):
			return t.Name("label", "app") + "=" + t.Name("value", strings.TrimPrefix(word, "app="))
		case word == "-n shop":
			return "-n " + t.Namespace("shop")
		case strings.HasPrefix(word, "KUBE-"):
			return t.Chain(word)
		case strings.HasPrefix(word, "veth"):
			return t.Device(word)
		case slices.Contains(t.nodes, word):
			return t.Name("node", word)
		case t.pods[word] != "":
			_, other := t.Pod(t.pods[word], word)
			return other
		case qualified && t.pods[name] == namespace:
			otherNamespace, other := t.Pod(namespace, name)
			return otherNamespace + "/" + other
		case qualified:
			return string(t.ServicePort(provenance.ServicePort(word)))
		}
		return word
	})
}

// damages are what may be wrong with a node of the recorded cluster: changes of what iptables-save prints there.
var damages = map[string]func(save string) string{
	"nothing":          func(save string) string { return save },
	"a policy of DROP": func(save string) string { return strings.Replace(save, ":FORWARD ACCEPT", ":FORWARD DROP", 1) },
	"a rule less": func(save string) string {
		return regexp.MustCompile(`(?m)^.*-A KUBE-SERVICES -d 10\.96\.125\.22/32 .*\n`).ReplaceAllString(save, "")
	},
	"a foreign translation": func(save string) string {
		jump := regexp.MustCompile(`(?m)^.*-A PREROUTING .*-j KUBE-SERVICES\n`).FindString(save)
		const rule = "      [0:0] -A PREROUTING -d 10.96.125.22/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.1.99:1\n"
		return strings.Replace(save, jump, rule+jump, 1)
	},
}

// TestAnAnonymousFolderIsToldTheSame holds that doctor, why and trace say of an anonymous folder what they say of the cluster, in other
// words.
func TestAnAnonymousFolderIsToldTheSame(t *testing.T) {
	race.OneGoroutine(t)
	n := 0
	for _, tools := range dumpTools {
		for _, name := range slices.Sorted(maps.Keys(damages)) {
			if tools == "nft" && name != "nothing" && name != "a rule less" {
				continue // the tools that wrote the rules make no difference to a policy and a rule of others
			}
			if n++; !sample.Takes(t, n-1, 4) {
				continue
			}
			t.Run(tools+", "+name, func(t *testing.T) {
				folder := keptDump(t, tools, dumpNodes[1:]...) // an end of all connections is there
				file := filepath.Join(folder, "nodes", "demo-worker.yaml")
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				damaged := damages[name](string(text))
				require.Equal(t, name == "nothing", damaged == string(text))
				require.NoError(t, os.WriteFile(file, []byte(damaged), 0o600))
				told(t, folder, name == "nothing" && tools == "legacy")
			})
		}
	}
}

// told compares what commands say of a folder and of its anonymous twin: a few of them, or all.
func told(t *testing.T, folder string, all bool) {
	twin, words := anonymised(t, folder, testKey), translatorOf(t, folder, testKey)
	objects := filesIn(t, folder)["objects.yaml"]
	const client = "pod/shop/echo-77c9b5bcb7-d6rwv"
	commands := [][]string{{"doctor"}, {"why", client, "svc/shop/web"}, {"trace", "tcp " + client + ":40000 > svc/shop/web:http"}}
	if all {
		commands = append(commands, [][]string{
			{"doctor", "-v"}, {"why", client, "svc/shop/empty"}, {"why", "node/demo-worker", "svc/shop/dual"}, {"why", "--matrix"},
			{"trace", "--summary", "tcp 10.244.2.2:40000 > 10.96.8.55:80"},
		}...)
	}
	for _, args := range commands {
		var other []string
		for _, arg := range args {
			other = append(other, words.text(arg))
		}
		status, out, errOut := call("", append(args, "--saved", folder)...)
		twinStatus, twinOut, twinErr := call("", append(other, "--saved", twin)...)
		assert.Equal(t, status, twinStatus, "%s: %s %s", args, errOut, twinErr)
		assert.Equal(t, sortedLines(words.text(out), objects), sortedLines(twinOut, objects), "%s", args)
	}
}

var (
	ports  = regexp.MustCompile(`:\d{4,5}\b`)
	spaces = regexp.MustCompile(` {2,}|-{2,}`) // the columns of tables
)

// sortedLines are the lines of an answer in an order that addresses do not decide, without the ports that masquerading takes by a hash of
// the addresses: those that are none of the objects' and not the client's.
func sortedLines(text, objects string) []string {
	text = ports.ReplaceAllStringFunc(text, func(port string) string {
		if port == ":40000" || strings.Contains(objects, " "+port[1:]+"\n") {
			return port
		}
		return ":PORT"
	})
	lines := strings.Split(spaces.ReplaceAllString(text, "  "), "\n")
	slices.Sort(lines)
	return lines
}

// TestNothingOfTheClusterIsLeft looks for each address and each name of the recorded cluster in all files of an anonymous folder of it.
func TestNothingOfTheClusterIsLeft(t *testing.T) {
	race.OneGoroutine(t)
	for _, tools := range someTools(t) {
		folder := keptDump(t, tools, dumpNodes...)
		secrets := secretsOf(t, filesIn(t, folder))
		require.Greater(t, len(secrets), 300)
		for _, known := range []string{"demo-worker", "shop", "web", "10.96.125.22", "echo", "vethb246c797", "zone-a",
			"KUBE-SEP-2Q664ONNGPPHMXDJ"} {
			assert.Contains(t, secrets, known, "the reader of secrets is blind")
		}
		for name, text := range filesIn(t, anonymised(t, folder, testKey)) {
			for _, secret := range secrets {
				if asWord(text, secret) || asWord(name, secret) {
					t.Errorf("%s: %s has %q", tools, name, secret)
				}
			}
		}
	}
}

// TestAnAnonymousFolderIsOfItsKey holds that a key gives the same folder again, and no key another one each time.
func TestAnAnonymousFolderIsOfItsKey(t *testing.T) {
	race.OneGoroutine(t)
	folder := savedDump(t, "demo-worker2", "demo-worker")
	first := filesIn(t, anonymised(t, folder, testKey))
	assert.Equal(t, first, filesIn(t, anonymised(t, folder, testKey)))
	assert.NotContains(t, first["README"], "at 2")
	assert.Equal(t, "the reason is left out\n", first["nodes/node3.missing"])
	for range 2 {
		out := filepath.Join(t.TempDir(), "new")
		status, _, errOut := call("", "anonymise", folder, out)
		require.Equal(t, exitHeld, status, errOut)
		assert.Contains(t, errOut, "docs/gather.md")
		assert.NotEqual(t, first["objects.yaml"], filesIn(t, out)["objects.yaml"])
	}
}

// TestWhatIsNotUnderstoodIsNotGivenAway holds that a rule which may hold an address where nobody finds it is refused, with its line.
func TestWhatIsNotUnderstoodIsNotGivenAway(t *testing.T) {
	folder := savedDump(t, "", "demo-worker")
	file := filepath.Join(folder, "nodes", "demo-worker.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("      COMMIT\n"),
		[]byte("      [0:0] -A INPUT -m u32 --u32 0xc=0xa600001 -j DROP\n      COMMIT\n"), 1), 0o600))
	out := filepath.Join(t.TempDir(), "new")
	status, _, errOut := call("", "anonymise", folder, out)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, folder+": snapshot of demo-worker: iptables[0].save: line ")
	assert.Contains(t, errOut, "--u32 may hold a name or an address: take the rule out, or the option: -A INPUT -m u32")
	assert.NoDirExists(t, out)
}

func TestAnonymisingRefuses(t *testing.T) {
	folder := savedDump(t, "", "demo-worker")
	for _, row := range []struct{ args, want string }{
		{"anonymise", "give the folder of a cluster, or files with -f and --node, and a new folder"},
		{"anonymise a -f b c", "give the folder of a cluster, or files"},
		{"anonymise nowhere new", "want a folder that chainwalk gather --save has written"},
		{"anonymise " + folder + " " + folder, "the folder is not empty"},
		{"anonymise --key 12 " + folder + " " + t.TempDir(), "--key: a key has 32 hexadecimal digits"},
		{"doctor --saved x --anonymise", "--anonymise is for the folder of --save"},
		{"doctor -A --anonymise", "--anonymise is for the folder of --save"},
		{"gather --save x --key 12", "--key is for --anonymise"},
		{"scenario from --saved x --key 12", "--key is for --anonymise"},
	} {
		status, out, errOut := call("", strings.Fields(row.args)...)
		assert.Equal(t, exitUsage, status, row.args)
		assert.Empty(t, out, row.args)
		assert.Contains(t, errOut, row.want, row.args)
	}
}
