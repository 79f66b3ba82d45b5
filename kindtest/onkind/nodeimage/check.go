package nodeimage

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// expectation is a command that runs in a container of the image, and what it must print.
type expectation struct {
	argv []string
	want string // a regular expression
}

// checks are what kind, kubeadm, the kubelet and chainwalk look for in a node.
var checks = []expectation{
	{[]string{"cat", "/kind/version"}, "^" + regexp.QuoteMeta(kubernetesVersion) + "$"},
	{[]string{"kubeadm", "version", "--output", "short"}, "^" + regexp.QuoteMeta(kubernetesVersion) + "$"},
	{[]string{"kubelet", "--version"}, regexp.QuoteMeta(kubernetesVersion) + "$"},
	{[]string{"kubectl", "version", "--client"}, "Client Version: " + regexp.QuoteMeta(kubernetesVersion)},
	{[]string{"systemctl", "is-enabled", "kubelet", "containerd"}, "^enabled\nenabled$"},
	{[]string{"systemd-analyze", "verify", "--man=no", "kubelet.service"}, "^$"},
	{[]string{"containerd", "config", "dump"}, `restrict_oom_score_adj = true(.|\n)*SystemdCgroup = true`},
	{[]string{"iptables-nft", "--version"}, `nf_tables`},
	{[]string{"ip6tables-nft", "--version"}, `nf_tables`},
	{[]string{"iptables-legacy", "--version"}, `legacy`},
	{[]string{"ip6tables-legacy", "--version"}, `legacy`},
	{[]string{"update-alternatives", "--query", "iptables"}, `Value: /usr/sbin/iptables-nft`},
	{[]string{"conntrack", "--version"}, `conntrack`},
	{[]string{"ipset", "version"}, `ipset`},
	{[]string{"nfacct", "version"}, `nfacct`},
	{[]string{"nft", "--version"}, `nftables`},
	{[]string{"ip", "-Version"}, `iproute2`},
	{[]string{"runc", "--version"}, `runc`},
	{[]string{"pgrep", "--exact", "containerd"}, `^\d+$`},
	{[]string{"sh", "-c", "test -x /sbin/init && test -x /usr/local/bin/entrypoint && test -x /usr/local/bin/crictl && echo all"}, "^all$"},
	{[]string{"sh", "-c", "cd /opt/cni/bin && ls host-local loopback ptp"}, "^host-local\nloopback\nptp$"},
	{[]string{"ls", "/kind/manifests"}, "^default-cni.yaml\ndefault-storage.yaml$"},
}

// check runs the checks in a container, and compares the images that its containerd has.
func check(ctx context.Context, id string, images []image) error {
	for _, c := range checks {
		out, err := docker(ctx, nil, append([]string{"exec", id}, c.argv...)...)
		if err != nil {
			return fmt.Errorf("the image is not complete: %w", err)
		}
		if err := c.judge(out); err != nil {
			return err
		}
	}
	out, err := docker(ctx, nil, "exec", id, "ctr", "--namespace", "k8s.io", "images", "list", "--quiet")
	if err != nil {
		return err
	}
	var wanted []string
	for _, i := range images {
		wanted = append(wanted, i.name)
	}
	// Each of them has its hash as a second name.
	got := slices.DeleteFunc(strings.Fields(out), func(name string) bool { return strings.HasPrefix(name, "sha256:") })
	if !sameNames(got, wanted) {
		return fmt.Errorf("the image is not complete: containerd has the images %q, not %q", got, wanted)
	}
	return nil
}

func (e expectation) judge(out string) error {
	if matched, err := regexp.MatchString(e.want, out); err != nil || !matched {
		return fmt.Errorf("the image is not complete: `%s` prints %q, which does not match %q", strings.Join(e.argv, " "), out, e.want)
	}
	return nil
}
