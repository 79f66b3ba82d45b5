package knft

import (
	"context"
	"fmt"
	"strconv"

	"sigs.k8s.io/knftables"
)

// ListElements returns the elements of a set or of a map (objectType is "set" or "map") in the order of nft's listing. As in the library, a
// range has an empty word in the place of its two ends, and so has what nft lists as an expression.
func (n *NFTables) ListElements(ctx context.Context, objectType, name string) ([]*knftables.Element, error) {
	if n.table == "" {
		return nil, errAllTables
	}
	if objectType != "set" && objectType != "map" {
		return nil, fmt.Errorf("invalid objectType %q", objectType)
	}
	entries, err := n.list(ctx, "list", objectType, string(n.family), n.table, name)
	if err != nil {
		return nil, err
	}
	type holder struct {
		Elements []any `json:"elem"`
	}
	listed, err := ofType[holder](entries, objectType)
	if err != nil {
		return nil, err
	}
	if len(listed) != 1 {
		return nil, fmt.Errorf("knft: nft has listed %d objects for the %s %s", len(listed), objectType, name)
	}
	elements := make([]*knftables.Element, 0, len(listed[0].Elements))
	for _, from := range listed[0].Elements {
		to := &knftables.Element{}
		if objectType == "set" {
			to.Set = name
			err = fillKey(to, from)
		} else {
			to.Map = name
			err = fillMapping(to, from)
		}
		if err != nil {
			return nil, fmt.Errorf("knft: an element of the %s %s: %w", objectType, name, err)
		}
		elements = append(elements, to)
	}
	return elements, nil
}

// fillMapping takes a pair of key and value.
func fillMapping(to *knftables.Element, from any) (err error) {
	pair, _ := from.([]any)
	if len(pair) != 2 {
		return fmt.Errorf("%v is not a key with its value", from)
	}
	if err = fillKey(to, pair[0]); err != nil {
		return err
	}
	to.Value, err = words(pair[1])
	return err
}

// fillKey takes a key, which is packed together with its comment, counter and the like if it has any.
func fillKey(to *knftables.Element, key any) (err error) {
	if outer, is := key.(map[string]any); is {
		if packed, is := outer["elem"].(map[string]any); is {
			key = packed["val"]
			if comment, has := packed["comment"].(string); has {
				to.Comment = &comment
			}
		}
	}
	to.Key, err = words(key)
	return err
}

// words are the words of a key or a value: one, or those of each part of a concatenation.
func words(value any) ([]string, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case float64:
		return []string{strconv.FormatInt(int64(v), 10)}, nil
	case map[string]any:
		if parts, is := v["concat"].([]any); is {
			var all []string
			for _, part := range parts {
				some, err := words(part)
				if err != nil {
					return nil, err
				}
				all = append(all, some...)
			}
			return all, nil
		}
		if prefix, is := v["prefix"].(map[string]any); is {
			return prefixWords(prefix)
		}
		if len(v) == 1 {
			return verdictWords(v), nil
		}
	}
	return nil, fmt.Errorf("%v is not known", value)
}

func prefixWords(prefix map[string]any) ([]string, error) {
	address, hasAddress := prefix["addr"].(string)
	length, hasLength := prefix["len"].(float64)
	if !hasAddress || !hasLength {
		return nil, fmt.Errorf("%v is not a prefix", prefix)
	}
	return []string{address + "/" + strconv.Itoa(int(length))}, nil
}

// verdictWords is a verdict: drop, or goto CHAIN. Of all else that is listed in this form the library makes an empty word.
func verdictWords(v map[string]any) []string {
	word := ""
	for name, argument := range v {
		if argument == nil {
			word = name
		} else if to, is := argument.(map[string]any); is {
			word = fmt.Sprintf("%s %s", name, to["target"])
		}
	}
	return []string{word}
}
