package anonymise

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// deviceWords are names of devices, and how names begin, that say nothing of a cluster but which programs it runs.
const deviceWords = `
	lo docker_gwbridge docker eth eno ens enp em bond team wlan dummy tunl tun tap gre gretap erspan sit ip6tnl ip6gre ip_vti ip6_vti teql
	br br- virbr veth vethwe vnet weave datapath vxlan- vxlan.calico vxlan-v6.calico wireguard.cali wg-v6.cali cali bpfin.cali bpfout.cali
	lxc lxc_health lxdbr cilium cilium_host cilium_net cilium_vxlan cilium_geneve cilium_wg flannel. flannel-v6. flannel-wg flannel-wg-v6
	cni cbr kube-ipvs kube-bridge kube-dummy-if nodelocaldns ovn-k8s-mp antrea-gw antrea-tun genev_sys_ vxlan_sys_ eni azv gke gkev
	tailscale wg ovs-system kind ifb vlan macvlan ipvlan`

// deviceBegins are all that these words begin with, and the words.
var deviceBegins = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(deviceWords) {
		for i := range word {
			out[word[:i+1]] = true
		}
	}
	return out
})

// numbered are names, and beginnings of them, of which the numbers stay: those of the kernel, of systemd and of programs that count.
var numbered = lazyregexp.New(`^(?:eth|eno|ens|em|bond|team|wlan|dummy|docker|tunl|gre|gretap|erspan|sit|ip6tnl|ip6gre|ip_vti|` +
	`ip6_vti|teql|br|virbr|lxdbr|cni|cbr|flannel\.|flannel-v6\.|kube-ipvs|ovn-k8s-mp|antrea-gw|antrea-tun|tailscale|wg|ifb|vlan)[0-9.]*$|` +
	`^enp[0-9]+(?:s[0-9]*(?:f[0-9]*)?(?:np?[0-9]*)?)?[0-9.]*$`)

// keepsDevice says whether the last character of how a device's name begins stays.
func keepsDevice(begin string) bool { return deviceBegins()[begin] || numbered().MatchString(begin) }

// device is another name of a device. Two names begin with as many equal characters after as before, so that a rule for "cali+" matches
// the same devices. Letters stay letters and digits digits.
func (d *disguise) device(name string) string {
	out := []byte(name)
	for i := range out {
		if keepsDevice(name[:i+1]) {
			continue
		}
		for _, class := range []string{"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
			if strings.IndexByte(class, name[i]) < 0 {
				continue
			}
			free := make([]byte, 0, len(class))
			at := 0
			for _, c := range []byte(class) {
				if keepsDevice(name[:i] + string(c)) {
					continue
				}
				if c == name[i] {
					at = len(free)
				}
				free = append(free, c)
			}
			of := binary.BigEndian.AppendUint32(nil, d.turn)
			sum := d.key.chance("device", append(append(of, class[0]), name[:i]...))
			out[i] = free[(at+int(binary.BigEndian.Uint32(sum[:])%uint32(len(free))))%len(free)]
		}
	}
	return string(out)
}
