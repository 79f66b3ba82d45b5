package gen

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/internal/ddmin"
	"github.com/chainwalk/chainwalk/scenarios"
)

func asTree(s *scenarios.Scenario) (ddmin.Tree, error) {
	var b bytes.Buffer
	if err := scenarios.Write(&b, s); err != nil {
		return nil, err
	}
	var out any
	err := yaml.Unmarshal(b.Bytes(), &out)
	return out, err
}

// text is the tree as a file, which Read reads. Equal trees have equal texts.
func text(t ddmin.Tree) []byte {
	out, err := yaml.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("gen: a tree that YAML does not have: %v", err))
	}
	return out
}

// mapped is the tree with every scalar changed; key is the key that the scalar, or the list that it is in, has.
func mapped(t ddmin.Tree, key string, change func(key string, scalar any) any) ddmin.Tree {
	switch v := t.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = mapped(value, k, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = mapped(value, key, change)
		}
		return out
	}
	return change(key, t)
}

// renamed is the tree with words of its texts replaced, all at the same time.
func renamed(t ddmin.Tree, words map[string]string) ddmin.Tree {
	return mapped(t, "", func(_ string, scalar any) any {
		if s, ok := scalar.(string); ok {
			return renameIn(s, words)
		}
		return scalar
	})
}

// renameIn replaces what stands alone in a text: no letter, digit, dot or colon of the same name around it.
func renameIn(s string, words map[string]string) string {
	if to, ok := words[s]; ok {
		return to
	}
	var out strings.Builder
	for len(s) > 0 {
		end := strings.IndexAny(s, " /,[]")
		if end < 0 {
			end = len(s)
		}
		word := s[:end]
		if to, ok := words[word]; ok {
			word = to
		}
		out.WriteString(word)
		if end < len(s) {
			out.WriteByte(s[end])
			end++
		}
		s = s[end:]
	}
	return out.String()
}
