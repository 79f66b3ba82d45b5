package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFileOfCommandLine(t *testing.T) {
	rows := []struct {
		name string
		args []string
		want file
		none bool
	}{
		{name: "create", args: []string{"create", "--bundle", "/b", "--pid-file", "/p", "id"}, want: file{"/b/config.json", config}},
		{name: "short option", args: []string{"run", "-b", "/b", "id"}, want: file{"/b/config.json", config}},
		{name: "equals sign", args: []string{"create", "--bundle=/b", "id"}, want: file{"/b/config.json", config}},
		{name: "the last one counts", args: []string{"create", "--bundle=/a", "-b", "/b", "id"}, want: file{"/b/config.json", config}},
		{name: "the folder that it is started in", args: []string{"run", "id"}, want: file{"config.json", config}},
		{name: "as containerd writes it", args: []string{"--root", "/run/create", "--log", "/l", "--log-format", "json", "--systemd-cgroup",
			"create", "--bundle", "/b", "id"}, want: file{"/b/config.json", config}},
		{name: "exec", args: []string{"--root=/r", "exec", "--process", "/tmp/p.json", "--detach", "id"}, want: file{"/tmp/p.json", process}},
		{name: "exec, short option", args: []string{"exec", "-p", "/tmp/p.json", "id"}, want: file{"/tmp/p.json", process}},
		{name: "exec without a file", args: []string{"exec", "id", "ls"}, want: file{"", process}, none: true},
		{name: "a container called create", args: []string{"start", "create"}, none: true},
		{name: "an option's value called run", args: []string{"--root", "run", "delete", "id"}, none: true},
		{name: "no command", args: []string{"--version"}, none: true},
		{name: "an option without its value", args: []string{"--root"}, none: true},
		{name: "create without the bundle's value", args: []string{"create", "--bundle"}, want: file{"config.json", config}},
		{name: "nothing", none: true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, ok := fileOf(row.args)
			assert.Equal(t, !row.none, ok)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestWithoutDeniedCapabilities(t *testing.T) {
	const sets = `{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"],"ambient":null,"permitted":[]}`
	const left = `{"bounding":["CAP_CHOWN"],"effective":[],"ambient":null,"permitted":[]}`
	rows := []struct {
		name         string
		kind         kind
		before, want string
		same         bool // not even written anew
		err          string
	}{
		{name: "of a container", kind: config, before: `{"process":{"capabilities":` + sets + `}}`,
			want: `{"process":{"capabilities":` + left + `}}`},
		{name: "of a process", kind: process, before: `{"capabilities":` + sets + `}`, want: `{"capabilities":` + left + `}`},
		{name: "what else there is stays", kind: config,
			before: `{"new":[1,{"a":null}],"process":{"args":["a<b&c>"],"rlimits":[{"hard":1024}],"capabilities":` + sets + `},"hooks":{}}`,
			want:   `{"new":[1,{"a":null}],"process":{"args":["a<b&c>"],"rlimits":[{"hard":1024}],"capabilities":` + left + `},"hooks":{}}`},
		{name: "the other kind's place is not looked at", kind: process, before: `{"process":{"capabilities":` + sets + `}}`, same: true},
		{name: "nothing denied", kind: process, before: "{ \"capabilities\": {\"bounding\":[\"CAP_CHOWN\"]} }\n", same: true},
		{name: "an unknown name", kind: process, before: `{"capabilities":{"bounding":["CAP_LATER"]}}`, same: true},
		{name: "no process", kind: config, before: `{"ociVersion":"1.0"}`, same: true},
		{name: "no capabilities", kind: config, before: `{"process":{}}`, same: true},
		{name: "not JSON", kind: config, before: `{`, err: "unexpected EOF"},
		{name: "two documents", kind: config, before: `{}{}`, err: "more than one JSON value"},
		{name: "process is a list", kind: config, before: `{"process":[]}`, err: "process is not an object"},
		{name: "capabilities is text", kind: process, before: `{"capabilities":"all"}`, err: "capabilities is not an object"},
		{name: "a set is text", kind: process, before: `{"capabilities":{"bounding":"all"}}`, err: "capabilities.bounding is not a list"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			after, err := row.kind.without([]byte(row.before), func(name string) bool { return name == "CAP_SYS_RESOURCE" })
			switch {
			case row.err != "":
				assert.EqualError(t, err, row.err)
			case row.same:
				require.NoError(t, err)
				assert.Equal(t, row.before, string(after))
			default:
				require.NoError(t, err)
				assert.JSONEq(t, row.want, string(after))
				assert.NotContains(t, string(after), `\u003c`)
			}
		})
	}
}

func TestEveryNumberKeepsItsDigits(t *testing.T) {
	after, err := process.without([]byte(`{"rlimits":[{"hard":18446744073709551615}],"capabilities":{"bounding":["CAP_X"]}}`),
		func(string) bool { return true })
	require.NoError(t, err)
	assert.Contains(t, string(after), "18446744073709551615")
}

// A changed document has the same members, none of what is denied, and changing it again changes nothing.
func FuzzWithout(f *testing.F) {
	f.Add(`{"process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE"]}}}`, true)
	f.Add(`{"capabilities":{"bounding":["CAP_SYS_RESOURCE",1,null]},"x":[1e400]}`, false)
	f.Add(`{"process":null}`, true)
	f.Add(`[]`, true)
	f.Fuzz(func(t *testing.T, text string, whole bool) {
		k := process
		if whole {
			k = config
		}
		denied := func(name string) bool { return name == "CAP_SYS_RESOURCE" }
		once, err := k.without([]byte(text), denied)
		if err != nil {
			return
		}
		twice, err := k.without(once, denied)
		require.NoError(t, err)
		assert.Equal(t, string(once), string(twice))
		var before, after map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &before))
		require.NoError(t, json.Unmarshal(once, &after))
		for name := range before {
			assert.Contains(t, after, name)
		}
		assert.Len(t, after, len(before))
	})
}
