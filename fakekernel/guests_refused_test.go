package fakekernel_test

import (
	"bytes"
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
	const set = "nft 'add rule ip filter INPUT tcp dport { 80, 443 } accept'"
	const unread = "iptables-nft on a table that nft made or changed: table ip filter: what iptables-nft reads into the rule with the handle "
	for _, test := range []struct{ before, command, want string }{
		{"iptables-nft -A INPUT -m realm --realm 5", "nft list ruleset",
			"chainwalk does not support listing what realm of x_tables is in the words of nft"},
		{set, "iptables-nft -S", unread},
		{set, "iptables-nft -S INPUT", unread},
		{set, "iptables-nft -L INPUT", unread},
		{set, "iptables-nft-save", unread},
		{set, "iptables-nft -C INPUT -j DROP", unread},
		{set, "iptables-nft -D INPUT -j DROP", unread},
		{"nft add rule ip filter INPUT ip saddr 1.2.3.4 reject", "iptables-nft -D INPUT -s 1.2.3.4", unread},
		{"nft add chain ip raw OUTPUT", "iptables-nft -t raw -A OUTPUT -j ACCEPT", "chain OUTPUT, which is no base chain"},
	} {
		run := toolsOf()
		for _, line := range []string{
			"iptables-nft -A INPUT -j ACCEPT", "iptables-nft -t nat -A OUTPUT -j ACCEPT", "nft add table ip raw", test.before,
		} {
			if line == "" {
				continue
			}
			out, errors, status := run(argsOf(line))
			require.Zero(t, status, "%s: %s%s", line, out, errors)
		}
		before, _, _ := run([]string{"nft", "-j", "-a", "list", "ruleset"})
		_, errors, status := run(argsOf(test.command))
		require.NotZero(t, status, test.command)
		require.Contains(t, errors, test.want, test.command)
		after, _, _ := run([]string{"nft", "-j", "-a", "list", "ruleset"})
		require.Equal(t, before, after, test.command)
	}
}
