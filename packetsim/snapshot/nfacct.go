package snapshot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseNFAcct reads what "nfacct list" prints, lines like "{ pkts = 00000000000000000000, bytes = 00000000000000000000 } = NAME;".
func ParseNFAcct(list string) ([]NFAcct, error) {
	var objects []NFAcct
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		object, err := parseNFAcctLine(line)
		if err != nil {
			return objects, fmt.Errorf("nfacct list: %q: %w", line, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func parseNFAcctLine(line string) (NFAcct, error) {
	var object NFAcct
	counters, name, ok := strings.Cut(line, "} = ")
	if !ok {
		return object, errors.New("want \"{ pkts = N, bytes = N } = NAME;\"")
	}
	object.Name = strings.TrimSuffix(name, ";")
	for part := range strings.SplitSeq(strings.Trim(counters, "{ "), ",") {
		key, value, _ := strings.Cut(part, "=")
		value = strings.TrimSpace(value)
		var err error
		switch strings.TrimSpace(key) {
		case "pkts":
			object.Packets, err = parseCount(value)
		case "bytes":
			object.Bytes, err = parseCount(value)
		case "quota":
			object.Quota, err = parseCount(value)
		case "mode":
			if object.Mode = value; value != "byte" && value != "packet" {
				err = fmt.Errorf("unknown mode %q", value)
			}
		case "overquota":
			object.Over = value != "no" && value != "0"
		}
		if err != nil {
			return object, err
		}
	}
	return object, nil
}

func parseCount(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number, or too large a one", text)
	}
	return n, nil
}
