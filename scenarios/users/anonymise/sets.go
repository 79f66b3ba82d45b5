package anonymise

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// set is the new name of a set of ipset. Those by which a program is known stay.
func (r nodeRenamer) set(old string) string {
	if provenance.IsSign(old) {
		return old
	}
	return r.Name("set", old)
}

// sets is what "ipset save" would print of the other sets. Errors call it by its name and say the line.
func (r nodeRenamer) sets(file, save string) (string, error) {
	var out strings.Builder
	types := map[string][]string{} // what elements are made of, by set
	number := 0
	for line := range strings.Lines(save) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		other, err := r.setLine(words, types)
		if err != nil {
			return "", fmt.Errorf("%s: line %d: %w: %s", file, number, err, strings.TrimSpace(line))
		}
		out.WriteString(strings.Join(other, " ") + "\n")
	}
	return out.String(), nil
}

func (r nodeRenamer) setLine(words []string, types map[string][]string) ([]string, error) {
	if len(words) < 3 || words[0] != "create" && words[0] != "add" {
		return nil, fmt.Errorf("want \"create SET TYPE\" or \"add SET ELEMENT\"")
	}
	old := words[1]
	out := []string{words[0], r.set(old)}
	if words[0] == "create" {
		_, parts, _ := strings.Cut(words[2], ":")
		types[old] = strings.Split(parts, ",")
		out = append(out, words[2])
	} else {
		element, err := r.element(types[old], words[2])
		if err != nil {
			return nil, err
		}
		out = append(out, element)
	}
	return r.setOptions(out, words[3:])
}

// element is another element of a set, whose type says of what parts it is made.
func (r nodeRenamer) element(parts []string, old string) (string, error) {
	words := strings.Split(old, ",")
	if len(words) != len(parts) {
		return "", fmt.Errorf("%q is no element of a set of %q", old, parts)
	}
	for i, part := range parts {
		switch part {
		case "ip", "net":
			other, err := r.addressOrRange(words[i])
			if err != nil {
				return "", err
			}
			words[i] = other
		case "mac":
			words[i] = r.mac(words[i])
		case "iface":
			name, physical := strings.CutPrefix(words[i], "physdev:")
			if words[i] = r.Device(name); physical {
				words[i] = "physdev:" + words[i]
			}
		case "set":
			words[i] = r.set(words[i])
		case "port", "mark":
		default:
			return "", fmt.Errorf("a set of %q is not known", part)
		}
	}
	return strings.Join(words, ","), nil
}

func (r nodeRenamer) addressOrRange(old string) (string, error) {
	if p, err := netip.ParsePrefix(old); err == nil {
		return r.Prefix(p).String(), nil
	}
	return r.addressRange(old)
}

// The options of sets and elements that a number or nothing follows, and the words that may.
var (
	setNumbers = []string{"hashsize", "maxelem", "bucketsize", "initval", "timeout", "size", "netmask", "markmask", "packets", "bytes",
		"skbmark", "skbprio", "skbqueue"}
	setFlags = []string{"counters", "comment", "skbinfo", "forceadd", "nomatch", "wildcard"}
)

// setOptions are what follows a set's type or an element.
func (r nodeRenamer) setOptions(out, words []string) ([]string, error) {
	creates := out[0] == "create"
	for i := 0; i < len(words); i++ {
		option, value := words[i], ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case option == "comment" && !creates:
			end := i + 1 // a comment may be of several words
			for end < len(words) && (end == i+1 && words[end] == `"` || !strings.HasSuffix(words[end], `"`)) {
				end++
			}
			out = append(out, option, `"`+r.Name("comment", strings.Join(words[i+1:min(end+1, len(words))], " "))+`"`)
			i = end
			continue
		case slices.Contains(setFlags, option):
			out = append(out, option)
			continue
		case option == "family" && (value == "inet" || value == "inet6"), slices.Contains(setNumbers, option) && isNumber(value):
		case option == "range" && isNumber(strings.Replace(value, "-", "", 1)): // of ports
		case option == "range":
			other, err := r.addressOrRange(value)
			if err != nil {
				return nil, err
			}
			value = other
		default:
			return nil, fmt.Errorf("option %q of a set is not known", option)
		}
		out = append(out, option, value)
		i++
	}
	return out, nil
}

// isNumber says whether a word is a number, or two with a slash or a colon between them.
func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789abcdefx/:") == ""
}
