package differ

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reach is how many rules with a match or target were made, and how many times a packet met one of them.
type reach struct {
	Rules int `json:"rules"`
	Met   int `json:"met"`
}

// coverage says of each match and target what was made of it and met by packets: "conntrack", "conntrack --ctstate", "MARK", "MARK
// --xor-mark". A match with an exclamation mark counts as the match.
type coverage map[string]*reach

// wordsOf are the names under which a line of iptables-restore counts.
func wordsOf(line string) []string {
	var names []string
	owner := ""
	words := strings.Fields(line)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "-m":
			owner = next
			names = append(names, owner)
		case w == "-j" || w == "-g":
			if owner = next; !isTargetName(next) {
				owner = map[string]string{"-j": "jump", "-g": "goto"}[w]
			}
			names = append(names, owner)
		case slices.Contains([]string{"-s", "-d", "-i", "-o", "-p", "-f"}, w):
			names = append(names, w)
		case strings.HasPrefix(w, "--") && owner != "":
			names = append(names, optionName(owner, w, next))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// enumerated are the options whose values are few and count each by itself.
var enumerated = []string{
	"--reject-with", "--mode", "--dst-type", "--src-type", "--ctstate", "--ctstatus", "--ctdir", "--pkt-type", "--chunk-types",
}

func optionName(owner, option, value string) string {
	if slices.Contains(enumerated, option) {
		return owner + " " + option + " " + value
	}
	return owner + " " + option
}

// isTargetName is for all that -j names but chains of the generator, which are C1, C2, ... and SVC.
func isTargetName(name string) bool { return !chainName.MatchString(name) }

var chainName = regexp.MustCompile(`^(C\d+|SVC)$`)

// rulesByPlace are the lines of a ruleset by "TABLE:CHAIN:NUMBER".
func rulesByPlace(rules string) map[string]string {
	table, numbers, lines := "", map[string]int{}, map[string]string{}
	for line := range strings.Lines(rules) {
		switch {
		case strings.HasPrefix(line, "*"):
			table = strings.TrimSpace(line[1:])
		case strings.HasPrefix(line, "-A "):
			chain := table + ":" + strings.Fields(line)[1]
			numbers[chain]++
			lines[chain+":"+strconv.Itoa(numbers[chain])] = line
		}
	}
	return lines
}

// add counts the rules of a case and those that the kernel's steps name.
func (c coverage) add(rules string, a *kernelAnswer) {
	lines := rulesByPlace(rules)
	for _, line := range lines {
		for _, name := range wordsOf(line) {
			c.reach(name).Rules++
		}
	}
	for i := range a.Sends {
		for _, step := range slices.Concat(a.Sends[i].Steps, a.Sends[i].Replies) {
			for _, name := range wordsOf(lines[placeOfStep(step)]) {
				c.reach(name).Met++
			}
		}
	}
}

// placeOfStep is "TABLE:CHAIN:NUMBER" of a step's line. A bare verdict is told as its chain's end, with its own number.
func placeOfStep(step string) string {
	step, _, _ = strings.Cut(step, " ")
	parts := strings.Split(step, ":")
	if len(parts) != 4 {
		return ""
	}
	return parts[0] + ":" + parts[1] + ":" + parts[3]
}

func (c coverage) reach(name string) *reach {
	if c[name] == nil {
		c[name] = &reach{}
	}
	return c[name]
}

// wanted are the matches and targets that the differential is about. TRACE is in every ruleset; a packet that is traced already meets it on
// lo.
var wanted = []string{
	"tcp", "udp", "sctp", "icmp", "icmp6", "comment", "conntrack", "state", "addrtype", "mark", "connmark", "statistic", "recent", "nfacct",
	"set", "multiport",
	"physdev", "limit", "connlimit", "hashlimit", "iprange", "owner", "pkttype", "mac", "length", "socket", "rpfilter",
	"ACCEPT", "DROP", "RETURN", "jump", "goto", "REJECT", "DNAT", "SNAT", "MASQUERADE", "REDIRECT", "NETMAP", "MARK", "CONNMARK", "CT",
	"NOTRACK", "LOG", "NFLOG",
	"TRACE", "TPROXY", "TCPMSS", "CHECKSUM", "SET", "NFQUEUE", "TEE", "SNPT", "DNPT",
}

// otherFamily are the wanted ones that the family does not have.
var otherFamily = map[int][]string{4: {"icmp6", "SNPT", "DNPT"}, 6: {"icmp"}}

// noPacket are the wanted ones that no packet of the lab can meet, with the reason.
var noPacket = map[string]string{"socket": "no socket of the node is bound to a port; rules with it are compared as ones that do not match"}

// reachable is how many of the wanted ones packets of one family can meet.
func reachable(family int) int { return len(wanted) - len(noPacket) - len(otherFamily[family]) }

// reached is how many of those packets met.
func (c coverage) reached(family int) int { return reachable(family) - len(c.missing(family)) }

// missing are the wanted ones that no packet met.
func (c coverage) missing(family int) []string {
	var none []string
	for _, name := range wanted {
		if !slices.Contains(otherFamily[family], name) && noPacket[name] == "" && (c[name] == nil || c[name].Met == 0) {
			none = append(none, name)
		}
	}
	return none
}

// print says how many of the wanted extensions packets of the family met, and which options none did.
func (c coverage) print(w io.Writer, family int) {
	var unmet []string
	for _, name := range sortedKeys(c) {
		if c[name].Met == 0 {
			unmet = append(unmet, fmt.Sprintf("%s (%d rules)", name, c[name].Rules))
		}
	}
	none := c.missing(family)
	fmt.Fprintf(w, "  reached by packets: %d of %d matches and targets, %d of %d of their options\n",
		c.reached(family), reachable(family), len(c)-len(unmet), len(c))
	for _, name := range sortedKeys(noPacket) {
		if c[name] != nil {
			fmt.Fprintf(w, "  not reached: %s, %d rules: %s\n", name, c[name].Rules, noPacket[name])
		}
	}
	if len(none) > 0 {
		fmt.Fprintf(w, "  not reached in this run: %s\n", strings.Join(none, ", "))
	}
	if len(unmet) > 0 {
		fmt.Fprintf(w, "  options not reached in this run: %s\n", strings.Join(unmet, ", "))
	}
}
