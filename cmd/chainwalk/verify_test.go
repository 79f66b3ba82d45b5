package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

func TestVerifyChecksWhatDiffWrote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "change.json")
	before, after := write(t, "before", webFirewall), write(t, "after", webNative443)
	status, _, errOut := call("", "diff", before, after, "--certificate", file)
	require.Equal(t, exitNotHeld, status, errOut)
	status, out, errOut := call("", "verify", file)
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Contains(t, out, "the certificate holds: ")
	assert.Contains(t, out, "sha256 ")
	status, out, errOut = call("", "verify", file, "-o", "json")
	require.Equal(t, exitHeld, status, errOut)
	var result verifyResult
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	assert.True(t, result.Holds)
	assert.False(t, result.Same)
	assert.Positive(t, result.Boxes)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	edited := strings.Replace(string(text), "tcp dport { 80, 443 } accept", "tcp dport { 80, 444 } accept", 1)
	require.NotEqual(t, string(text), edited)
	status, out, errOut = call(edited, "verify", "-")
	assert.Equal(t, exitNotHeld, status, out+errOut)
	assert.Contains(t, out, "the certificate does not hold: IPv4: box ")
	status, _, errOut = call("{", "verify", "-")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "certificate: ")
	status, _, errOut = call(string(text), "verify", "-", "--most-parts", "3")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "it cannot be checked")
}

// TestVerifyRefusesACertificateOfHalfThePackets, and says how many packets one that holds leaves open.
func TestVerifyRefusesACertificateOfHalfThePackets(t *testing.T) {
	both := "table inet f {\n\tchain forward1 {\n\t\ttype filter hook forward priority 0; policy drop;\n" +
		"\t\tip daddr 10.0.0.0/8 accept\n\t\tip6 daddr fd00::/16 accept\n\t}\n}\n"
	file := filepath.Join(t.TempDir(), "change.json")
	before, after := write(t, "before", both), write(t, "after", strings.Replace(both, "fd00", "fd01", 1))
	status, _, errOut := call("", "diff", before, after, "--certificate", file)
	require.Equal(t, exitNotHeld, status, errOut)
	status, out, errOut := call("", "verify", file)
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Regexp(t, `^the certificate holds: of new packets of IPv4 and IPv6, .* otherwise; [0-9.]+% of them are left open \(multicast\)\n`,
		out)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	parts, isList := fields["parts"].([]any)
	require.True(t, isList)
	fields["parts"], fields["same"] = parts[:1], true
	half, err := json.Marshal(fields)
	require.NoError(t, err)
	status, out, errOut = call(string(half), "verify", "-")
	assert.Equal(t, exitNotHeld, status, out+errOut)
	assert.Contains(t, out, "the certificate does not hold: it says nothing of IPv6")
}

func TestCertificatesThatCannotBe(t *testing.T) {
	rules, none := write(t, "rules", webFirewall), write(t, "none", "")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{rules, rules, "--most-boxes", "0"}, "--most-boxes 0: want 1 or more"},
		{[]string{rules, rules, "--most-boxes", "10"}, "boxes of packets, more than 10"},
		{[]string{none, none}, "neither side has any rules"},
	} {
		file := filepath.Join(t.TempDir(), "change.json")
		status, out, errOut := call("", append([]string{"diff", "--certificate", file}, row.args...)...)
		assert.Equal(t, exitUsage, status, out)
		assert.Contains(t, errOut, row.want)
		assert.NoFileExists(t, file)
	}
}

// TestCertificatesOfEachClass certifies a firewall that lets answers in beside one that does not. Only answers differ.
func TestCertificatesOfEachClass(t *testing.T) {
	race.OneGoroutine(t)
	chain := func(states string) string {
		return "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
			"-A FORWARD -m conntrack --ctstate " + states + " -j ACCEPT\n-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	}
	before, after := write(t, "before", chain("RELATED,ESTABLISHED")), write(t, "after", chain("RELATED"))
	file := filepath.Join(t.TempDir(), "change.json")
	for _, row := range []struct {
		classes string
		status  int
		want    string
	}{
		{"new", exitHeld, "treat all new packets of IPv4 alike"},
		{"established", exitNotHeld, "the certificate holds: of established packets of IPv4, "},
		{"replying", exitNotHeld, "the certificate holds: of replying packets of IPv4, "},
		{"related", exitHeld, "treat all related packets of IPv4 alike"},
		{"invalid", exitHeld, "treat all invalid packets of IPv4 alike"},
		{"untracked", exitHeld, "treat all untracked packets of IPv4 alike"},
		{"new,related,invalid", exitHeld, "treat all new, related and invalid packets of IPv4 alike"},
		{"new,established", exitNotHeld, "the certificate holds: of new and established packets of IPv4, "},
	} {
		status, out, errOut := call("", "diff", before, after, "--certificate", file, "--class", row.classes)
		require.Equal(t, row.status, status, "%s: %s%s", row.classes, out, errOut)
		status, out, errOut = call("", "verify", file)
		require.Equal(t, exitHeld, status, "%s: %s%s", row.classes, out, errOut)
		assert.Contains(t, out, row.want)
	}
	status, _, errOut := call("", "diff", before, before, "--certificate", file, "--class", "established")
	require.Equal(t, exitHeld, status, errOut)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	exchanged := strings.Replace(string(text), `"class": "established"`, `"class": "untracked"`, 1)
	status, out, errOut := call(exchanged, "verify", "-")
	assert.Equal(t, exitNotHeld, status, out+errOut)
	assert.Contains(t, out, "the certificate does not hold: IPv4, untracked: box ")
	status, out, errOut = call(strings.Replace(string(text), `"class": "established"`, `"class": "old"`, 1), "verify", "-")
	assert.Equal(t, exitUsage, status, out)
	assert.Contains(t, errOut, `class "old": want new, established, replying, related, invalid or untracked`)
}

// TestVerifySaysFirstWhatIsLeftOpen: what depends on a condition that nobody decides comes before the rest, in the words of nft.
func TestVerifySaysFirstWhatIsLeftOpen(t *testing.T) {
	chain := func(rule string) string {
		return "table ip f {\n\tchain c {\n\t\ttype filter hook forward priority 0; policy accept;\n\t\t" + rule + "\n\t}\n}\n"
	}
	before, after := write(t, "before.nft", chain("ip ttl 64 drop")), write(t, "after.nft", chain("counter"))
	file := filepath.Join(t.TempDir(), "change.json")
	status, out, errOut := call("", "diff", before, after, "--certificate", file)
	require.Equal(t, exitNotHeld, status, out+errOut)
	assert.Contains(t, out, "if       ip ttl 64\n")
	status, out, errOut = call("", "verify", file)
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Regexp(t, `^the certificate holds, of new packets of IPv4: [0-9.]+% of them are left open \(multicast\); [0-9.]+% of them are `+
		`left open \(whether \[ip ttl 64\] holds\); \S+ and \S+ treat the others alike\n`, out)
}

// TestShippedCertificateSchema compares the schema that is printed with that of docs.
func TestShippedCertificateSchema(t *testing.T) {
	status, out, errOut := call("", "schema", "certificate")
	require.Equal(t, exitHeld, status, errOut)
	shipped, err := os.ReadFile("../../docs/certificate.schema.json")
	require.NoError(t, err)
	assert.Equal(t, string(shipped), out, "go run ./cmd/chainwalk schema certificate > docs/certificate.schema.json")
}
