package fakekernel_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
)

// toolsOf runs commands on a new kernel of the nft tools.
func toolsOf() runner {
	k := fakekernel.New(fakekernel.Options{Dialect: netfilter.NFT})
	return func(argv []string) (string, string, int) {
		var out, errors bytes.Buffer
		command := k.Exec().Command(argv[0], argv[1:]...)
		command.SetStdout(&out)
		command.SetStderr(&errors)
		status := 0
		if err := command.Run(); err != nil {
			exit, is := err.(interface{ ExitStatus() int })
			if !is {
				return "", err.Error(), -1
			}
			status = exit.ExitStatus()
		}
		return out.String(), errors.String(), status
	}
}

// TestGuestsRefused holds that what is not imitated is refused by name, and changes nothing.
func TestGuestsRefused(t *testing.T) {
	t.Parallel()
	const changes = "chainwalk does not support changes by nft of tables that iptables-nft made: table ip filter"
	for _, test := range []struct{ before, command, want string }{
		{"", "nft add rule ip filter INPUT accept", changes},
		{"", "nft insert rule ip filter INPUT accept", changes},
		{"", "nft add chain ip filter c", changes},
		{"", "nft delete chain ip filter INPUT", changes},
		{"", "nft flush chain ip filter INPUT", changes},
		{"", "nft add set ip filter s { type ipv4_addr; }", changes},
		{"", "nft add counter ip filter c", changes},
		{"", "nft add table ip filter { flags dormant; }", changes},
		{"", "nft delete rule ip filter INPUT handle 2", changes},
		{"", "nft delete table ip nat; add rule ip filter INPUT accept", changes},
		{"iptables-nft -A INPUT -m realm --realm 5", "nft list ruleset",
			"chainwalk does not support listing what realm of x_tables is in the words of nft"},
		{"nft add table ip6 filter", "ip6tables-nft -N A", "chainwalk does not support iptables-nft on tables that nft made: table ip6 filter"},
		{"nft \"table ip6 filter { chain c { }; }\"", "ip6tables-nft-save", "iptables-nft on tables that nft made: table ip6 filter"},
		{"nft \"table ip6 filter { chain INPUT { type filter hook input priority 5; }; }\"", "ip6tables-nft -S",
			"iptables-nft on tables that nft made: table ip6 filter"},
		{"nft add table ip6 raw", "ip6tables-nft -t raw -A OUTPUT -j ACCEPT", "iptables-nft on tables that nft made: table ip6 raw"},
	} {
		run := toolsOf()
		for _, line := range []string{"iptables-nft -A INPUT -j ACCEPT", "iptables-nft -t nat -A OUTPUT -j ACCEPT", test.before} {
			if line == "" {
				continue
			}
			out, errors, status := run(argsOf(line))
			require.Zero(t, status, "%s: %s%s", line, out, errors)
		}
		before, _, _ := run([]string{"nft", "-j", "-a", "list", "ruleset"})
		words := argsOf(test.command)
		if words[0] == "nft" {
			words = []string{"nft", strings.TrimPrefix(test.command, "nft ")}
		}
		_, errors, status := run(words)
		require.NotZero(t, status, test.command)
		require.Contains(t, errors, test.want, test.command)
		after, _, _ := run([]string{"nft", "-j", "-a", "list", "ruleset"})
		require.Equal(t, before, after, test.command)
	}
}
