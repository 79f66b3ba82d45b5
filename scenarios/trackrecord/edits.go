package trackrecord

// edit puts faults into a file: old, which is there exactly once, becomes now.
type edit struct{ file, old, now string }

// edits are all faults. In them fault.On says whether one is switched on, and fault.Pick
// chooses its first value if so and its second one if not.
var edits = []edit{
	{"proxier/internal/changes/addresses.go",
		`netutils.ParseIPSloppy(text)`,
		`netutils.ParseIPSloppy(fault.Octal("leading-zeros-octal", text))`},
	{"proxier/internal/changes/endpointslicecache.go",
		`	held.triggerTimes = nil
	c.settle(owner, held)`,
		`	held.triggerTimes = nil
	if fault.On("removal-missed") {
		return
	}
	c.settle(owner, held)`},
	{"proxier/internal/changes/endpointslicecache.go",
		`if sameContent(latest, slice) {`,
		`if !fault.On("no-op-written") && sameContent(latest, slice) {`},
	{"proxier/internal/changes/endpointslicecache.go",
		`if sameContent(s.applied[name], slice) {`,
		`if !fault.On("no-op-written") && sameContent(s.applied[name], slice) {`},
	{"proxier/internal/changes/endpointstracker.go",
		`if slices.EqualFunc(list, previous[port], Endpoint.equal) {`,
		`same := slices.EqualFunc(list, previous[port], Endpoint.equal) && !fault.On("no-op-written")
		if same || fault.On("endpoints-lag") && len(list) == len(previous[port]) {`},
	{"proxier/internal/changes/endpointstracker.go",
		`list[i].Local && list[i].Ready {`,
		`list[i].Local && (list[i].Ready || list[i].Serving && fault.On("health-check-counts-draining")) {`},

	{"proxier/internal/model/endpoints.go",
		`bool { return useCluster(e) || useLocal(e) })`,
		`bool {
		return useCluster(e) || useLocal(e) || fault.On("affinity-to-unready-endpoints") || fault.On("unused-endpoints-written")
	})`},
	{"proxier/internal/model/endpoints.go",
		`bool { return ready(&e) || draining(&e) })`,
		`bool {
		return ready(&e) || draining(&e) || fault.On("refused-without-any-endpoint-only")
	})`},
	{"proxier/internal/model/endpoints.go",
		`if !ready(e) {`,
		`if !ready(e) && !fault.On("hints-of-unready-count") {`},
	{"proxier/internal/model/endpoints.go",
		`allZone = allZone && len(e.ZoneHints) > 0`,
		`allZone = allZone && (len(e.ZoneHints) > 0 || fault.On("incomplete-hints-obeyed"))`},
	{"proxier/internal/model/endpoints.go",
		`case allNode && anyNode:`,
		`case allNode && anyNode && !fault.On("node-hints-ignored"):`},
	{"proxier/internal/model/model.go",
		`DropInvalid:   !config.TCPLiberal,`,
		`DropInvalid: !fault.On("invalid-passes") && (!config.TCPLiberal || fault.On("invalid-dropped-when-liberal")),`},
	{"proxier/internal/model/model.go",
		`case config.MasqueradeAll:`,
		`case config.MasqueradeAll && !fault.On("masquerade-all-ignored"):`},
	{"proxier/internal/model/model.go",
		`case config.LocalTraffic.Known():`,
		`case config.LocalTraffic.Known() && !fault.On("outside-not-masqueraded"):`},
	{"proxier/internal/model/service.go",
		`External:       decideTraffic(sets, port.ExternalPolicyLocal),`,
		`External: fault.Pick(fault.On("node-ports-always-refused") && port.NodePort != 0,
			Traffic{Verdict: Reject}, decideTraffic(sets, port.ExternalPolicyLocal)),`},
	{"proxier/internal/model/service.go",
		`EntersExternal: sets.Any && ExternallyAccessible(port),`,
		`EntersExternal: sets.Any && ExternallyAccessible(port) && !(fault.On("node-ports-always-refused") && port.NodePort != 0),`},
	{"proxier/internal/model/service.go",
		`bool { return p.Contains(node.IP) })`,
		`bool { return p.Contains(node.IP) && !fault.On("node-refused-by-firewall") })`},

	{"proxier/internal/ipt/book.go",
		`if len(service.Endpoints.Cluster) > 0 {`,
		`if len(service.Endpoints.Cluster) > 0 || fault.On("refused-without-any-endpoint-only") {`},
	{"proxier/internal/ipt/chains.go",
		`	dst = t.appendEndpointHead(dst, endpoint)
	dst = append(dst, " -s "...)
	dst = endpoint.IP.AppendTo(dst)
	dst = append(dst, " -j "+markMasqChain+"\n"...)`,
		`	if !fault.On("hairpin-keeps-source") {
		dst = t.appendEndpointHead(dst, endpoint)
		dst = append(dst, " -s "...)
		dst = endpoint.IP.AppendTo(dst)
		dst = append(dst, " -j "+markMasqChain+"\n"...)
	}`},
	{"proxier/internal/ipt/chains.go",
		`" will be dropped by "+proxyFirewallChain)
	return append(dst, '\n')`,
		`" will be dropped by "+proxyFirewallChain)
	if fault.On("drops-by-kubelet-chain") {
		dst = append(dst, " -j KUBE-MARK-DROP"...)
	}
	return append(dst, '\n')`},
	{"proxier/internal/ipt/chains.go",
		`		t.eachOf(set, func(_ int, endpoint *endpointText) {`,
		`		sticky := fault.Pick(fault.On("affinity-to-unready-endpoints"), t.service.Endpoints.Reachable, set)
		t.eachOf(sticky, func(_ int, endpoint *endpointText) {`},
	{"proxier/internal/ipt/chains.go",
		`			dst = append(dst, endpoint.hash[:]...)
			dst = append(dst, " --rcheck --seconds "...)
			dst = strconv.AppendInt(dst, int64(t.service.Port.StickyMaxAgeSeconds), 10)`,
		`			dst = append(dst, endpoint.hash[:]...)
			if fault.On("affinity-lost-by-change") {
				dst = strconv.AppendInt(append(dst, '-'), int64(len(t.endpoints)), 10)
			}
			dst = append(dst, " --rcheck --seconds "...)
			seconds := t.service.Port.StickyMaxAgeSeconds
			if fault.On("affinity-too-short") {
				seconds = max(1, seconds/60)
			}
			dst = strconv.AppendInt(dst, int64(seconds), 10)`},
	{"proxier/internal/ipt/chains.go",
		`		dst = append(dst, endpoint.hash[:]...)
		dst = append(dst, " --set"...)`,
		`		dst = append(dst, endpoint.hash[:]...)
		if fault.On("affinity-lost-by-change") {
			dst = strconv.AppendInt(append(dst, '-'), int64(len(t.endpoints)), 10)
		}
		dst = append(dst, " --set"...)`},
	{"proxier/internal/ipt/filter.go",
		`	if verdict == model.Route {
		return dst
	}
	dst = t.appendRefusal(dst, servicesChain, verdict)`,
		`	if verdict == model.Route || fault.On("cluster-ips-not-refused") {
		return dst
	}
	dst = t.appendRefusal(dst, servicesChain, verdict)`},
	{"proxier/internal/ipt/filter.go",
		`[...][]netip.Addr{port.ExternalIPs, port.LoadBalancerVIPs} {`,
		`[...][]netip.Addr{port.ExternalIPs, port.LoadBalancerVIPs} {
		if fault.On("external-ips-not-refused") {
			continue
		}`},
	{"proxier/internal/ipt/filter.go",
		`if port.NodePort != 0 {`,
		`if port.NodePort != 0 && !fault.On("node-ports-not-refused") {`},
	{"proxier/internal/ipt/filter.go",
		`if port.HealthCheckNodePort == 0 {`,
		`if port.HealthCheckNodePort == 0 || fault.On("health-check-port-closed") {`},
	{"proxier/internal/ipt/filter.go",
		`if t.service.Firewall == nil {`,
		`if t.service.Firewall == nil || fault.On("firewall-does-not-drop") {`},
	{"proxier/internal/ipt/jumps.go",
		`	return []jumpRule{`,
		`	jumps := []jumpRule{`},
	{"proxier/internal/ipt/jumps.go",
		`jump("filter", "INPUT", externalServicesChain,`,
		`jump("filter", fault.Pick(fault.On("external-ips-not-refused-to-input"), "FORWARD", "INPUT"), externalServicesChain,`},
	{"proxier/internal/ipt/jumps.go",
		`jump("filter", "FORWARD", servicesChain,`,
		`jump("filter", fault.Pick(fault.On("refused-to-the-node-only"), "OUTPUT", "FORWARD"), servicesChain,`},
	{"proxier/internal/ipt/jumps.go",
		`		jump("filter", "OUTPUT", firewallChain, ""),
	}`,
		`		jump("filter", "OUTPUT", firewallChain, ""),
	}
	if fault.On("services-walked-by-input") {
		jumps = append(jumps, jump("filter", "INPUT", servicesChain, "kubernetes service portals"))
	}
	return jumps`},
	{"proxier/internal/ipt/partial.go",
		`if deleteUnused || !r.large() {`,
		`if (deleteUnused || !r.large()) && !fault.On("unused-chains-kept") {`},
	{"proxier/internal/ipt/partial.go",
		`	now.chains(r.leftover.remove)`,
		`	if !fault.On("used-again-deleted") || !r.large() {
		now.chains(r.leftover.remove)
	}`},
	{"proxier/internal/ipt/partial.go",
		`	clear(p.held)
	if now.style != old.style {`,
		`	if !fault.On("deleted-chains-not-declared") {
		clear(p.held)
	}
	if now.style != old.style || fault.On("affinity-lost-by-change") {`},
	{"proxier/internal/ipt/renderer.go",
		`dst = appendChainLines(dst, servicesChain, nodePortsChain, postroutingChain, markMasqChain)`,
		`dst = appendChainLines(dst, servicesChain, nodePortsChain)
	if !fault.On("postrouting-not-emptied") {
		dst = appendChainLines(dst, postroutingChain)
	}
	dst = appendChainLines(dst, markMasqChain)`},
	{"proxier/internal/ipt/shared.go",
		`if !m.GuardLoopback {`,
		`if !m.GuardLoopback || fault.On("loopback-unguarded") {`},
	{"proxier/internal/ipt/shared.go",
		`	dst = append(dst, "-A "+forwardChain+` + "` -m comment --comment \"kubernetes forwarding rules\" -m mark --mark `" + `...)
	dst = append(dst, mark+"/"+mark+" -j ACCEPT\n"...)
	return`,
		`	if !fault.On("marked-not-forwarded") {
		dst = append(dst, "-A "+forwardChain+` + "` -m comment --comment \"kubernetes forwarding rules\" -m mark --mark `" + `...)
		dst = append(dst, mark+"/"+mark+" -j ACCEPT\n"...)
	}
	if fault.On("replies-not-forwarded") {
		return dst
	}
	return`},
	{"proxier/internal/ipt/shared.go",
		`	dst = append(dst, "-A "+postroutingChain+" -j MARK --xor-mark "+mark+"\n"...)`,
		`	if !fault.On("mark-kept") {
		dst = append(dst, "-A "+postroutingChain+" -j MARK --xor-mark "+mark+"\n"...)
	}`},

	{"proxier/conntrack/frontends.go",
		`	return !serves`,
		`	if fault.On("udp-flows-untranslated-kept") && e.Reply.Src == e.Original.Dst {
		return false
	}
	return !serves`},
	{"proxier/conntrack.go",
		`c.any = c.any || services.UDPChanged || endpoints.UDPChanged`,
		`c.any = c.any || services.UDPChanged || endpoints.UDPChanged && !fault.On("udp-flows-to-gone-endpoints-kept")`},
	{"proxier/conntrack.go",
		`	p.udp.any = true
	p.udp.former = append(p.udp.former, stale.changed.former...)`,
		`	if !fault.On("udp-changes-lost-by-conntrack") {
		p.udp.any = true
		p.udp.former = append(p.udp.former, stale.changed.former...)
	}`},
	{"proxier/conntrack.go",
		`		addFrontends(frontends, port, nil)`,
		`		if !fault.On("udp-flows-of-former-addresses-kept") {
			addFrontends(frontends, port, nil)
		}`},
	{"proxier/conntrack.go",
		`		addFrontends(frontends, port, backends)`,
		`		if len(backends) > 0 || !fault.On("udp-flows-without-endpoints-kept") {
			addFrontends(frontends, port, backends)
		}`},
	{"proxier/conntrack.go",
		`	frontends.AddService(netip.AddrPortFrom(port.ClusterIP, port.Port), backends)`,
		`	frontends.AddService(netip.AddrPortFrom(port.ClusterIP, port.Port), backends)
	if fault.On("udp-flows-of-external-addresses-kept") {
		return
	}`},
	{"proxier/iptables/rules.go",
		`if err != nil || exists {`,
		`if err != nil || exists && !fault.On("jumps-doubled") {`},
	{"proxier/proxier.go",
		`	if err := p.write(full, zone, services, endpoints); err != nil {`,
		`	if fault.On("conntrack-before-rules") {
		early := p.udp
		early.add(services, endpoints)
		if early.any && p.config.Conntrack != nil {
			_, _ = conntrack.Clean(p.config.Conntrack, p.config.Family, p.udpFrontends(early.former))
		}
	}
	if err := p.write(full, zone, services, endpoints); err != nil {
		if fault.On("healthy-while-failing") {
			p.config.Health.Updated(p.config.Family)
		}
		if fault.On("udp-changes-lost-by-failure") {
			p.services.MarkSynced()
			p.endpoints.MarkSynced()
		}`},
	{"proxier/proxier.go",
		`		p.state.dirty()
		return nil, fmt`,
		`		if !fault.On("failed-stays-partial") {
			p.state.dirty()
		}
		return nil, fmt`},
	{"proxier/proxier.go",
		`	p.noteHealth(endpoints.UpdatedServices)
	p.udp.add(services, endpoints)`,
		`	if !fault.On("health-check-lags") {
		p.noteHealth(endpoints.UpdatedServices)
	}
	if !fault.On("conntrack-before-rules") {
		p.udp.add(services, endpoints)
	}`},
	{"proxier/internal/ipt/intact.go",
		`if !existed && w.canaries {`,
		`if !existed && w.canaries && !fault.On("flush-missed") {`},
	{"proxier/internal/ipt/intact.go",
		`if !exists {`,
		`if !exists && !fault.On("flush-missed") {`},
	{"proxier/state.go",
		`	s.zone = zone
	s.stale = true`,
		`	s.zone = zone
	s.stale = s.stale || !fault.On("zone-change-missed")`},
}
