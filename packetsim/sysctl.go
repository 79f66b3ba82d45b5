package packetsim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SetSysctl sets a sysctl by its dotted name. As in the kernel, net.ipv4.ip_forward and
// net.ipv4.conf.all.forwarding are one, and setting it (or its IPv6 twin) sets every device's.
func (h *Host) SetSysctl(name, value string) error {
	if !strings.HasPrefix(name, "net.") {
		return fmt.Errorf("sysctl %s: want a name below net", name)
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	writeSysctl(h.sysctls, name, value)
	return h.readSysctls()
}

// writeSysctl writes one setting, and those that are written with it.
func writeSysctl(values map[string]string, name, value string) {
	if name == "net.ipv4.ip_forward" {
		name = "net.ipv4.conf.all.forwarding"
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if name == "net."+family+".conf.all.forwarding" {
			prefix, suffix := "net."+family+".conf.", ".forwarding"
			maps.DeleteFunc(values, func(key, _ string) bool {
				return strings.HasPrefix(key, prefix) && strings.HasSuffix(key, suffix)
			})
		}
	}
	values[name] = value
}

// lendSysctls puts other settings beside the host's own, which are left as they are.
func (h *Host) lendSysctls(set map[string]string) error {
	h.sysctls = maps.Clone(h.sysctls)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		writeSysctl(h.sysctls, name, set[name])
	}
	return h.readSysctls()
}

// Sysctl is the value of a sysctl, if it was given or set.
func (h *Host) Sysctl(name string) (string, bool) {
	if name == "net.ipv4.ip_forward" {
		name = "net.ipv4.conf.all.forwarding"
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	value, ok := h.sysctls[name]
	return value, ok
}

// deviceSysctls are the settings of one device that routing looks at, "all" already counted in.
type deviceSysctls struct {
	forwarding, routeLocalnet, acceptLocal, sendRedirects, srcValidMark bool
	rpFilter                                                            int
}

// hostSysctls are the settings of the whole namespace, but for conntrack's.
type hostSysctls struct {
	forwarding6    bool
	bridgeCalls    [2]bool // br_netfilter shows frames to the rules, of IPv4 and of IPv6
	fwmarkReflect  bool
	fwmarkReflect6 bool
	defaultTTL     int
}

// sysctlReader reads numbers and keeps the first error.
type sysctlReader struct {
	values map[string]string
	err    error
}

func (r *sysctlReader) number(fallback int, names ...string) int {
	for _, name := range names {
		text, ok := r.values[name]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("sysctl %s: %q is not a number", name, text)
		}
		return n
	}
	return fallback
}

// readSysctls puts the sysctls into the form that a walk looks at.
func (h *Host) readSysctls() error {
	if value, ok := h.sysctls["net.ipv4.ip_forward"]; ok {
		delete(h.sysctls, "net.ipv4.ip_forward")
		if _, both := h.sysctls["net.ipv4.conf.all.forwarding"]; !both {
			h.sysctls["net.ipv4.conf.all.forwarding"] = value
		}
	}
	r := &sysctlReader{values: h.sysctls}
	every, own := r.device(""), r.devicesWithOwn()
	for _, dev := range h.devices {
		dev.conf = every
		if own[dev.Name] {
			dev.conf = r.device(dev.Name)
		}
	}
	h.conf = r.host()
	h.conns.Configure(h.sysctls, r.number)
	return r.err
}

// devicesWithOwn are the devices, and maybe more, that have settings of their own.
func (r *sysctlReader) devicesWithOwn() map[string]bool {
	var own map[string]bool
	for name := range r.values {
		if rest, found := strings.CutPrefix(name, deviceSysctl); found {
			if own == nil {
				own = map[string]bool{}
			}
			own[rest[:max(0, strings.LastIndexByte(rest, '.'))]] = true
		}
	}
	return own
}

// deviceSysctl is where the settings of devices are.
const deviceSysctl = "net.ipv4.conf."

// device are the settings of a device, with an empty name of one that has none of its own.
func (r *sysctlReader) device(name string) deviceSysctls {
	const conf = deviceSysctl
	own := func(key string, fallback int) int {
		return r.number(fallback, conf+name+"."+key, conf+"default."+key)
	}
	all := func(key string, fallback int) int { return r.number(fallback, conf+"all."+key) }
	either := func(key string, fallback int) bool { return own(key, fallback) != 0 || all(key, fallback) != 0 }
	return deviceSysctls{
		forwarding:    r.number(0, conf+name+".forwarding", conf+"all.forwarding", conf+"default.forwarding") != 0,
		routeLocalnet: either("route_localnet", 0),
		acceptLocal:   either("accept_local", 0),
		sendRedirects: either("send_redirects", 1),
		srcValidMark:  either("src_valid_mark", 0),
		rpFilter:      max(own("rp_filter", 0), all("rp_filter", 0)),
	}
}

func (r *sysctlReader) host() hostSysctls {
	conf := hostSysctls{
		forwarding6:    r.number(0, "net.ipv6.conf.all.forwarding") != 0,
		fwmarkReflect:  r.number(0, "net.ipv4.fwmark_reflect") != 0,
		fwmarkReflect6: r.number(0, "net.ipv6.fwmark_reflect") != 0,
		defaultTTL:     r.number(64, "net.ipv4.ip_default_ttl"),
	}
	for i := range conf.bridgeCalls {
		conf.bridgeCalls[i] = r.number(0, BridgeCallSysctl(i == 1)) != 0
	}
	return conf
}
