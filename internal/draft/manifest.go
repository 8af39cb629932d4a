package draft

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// A manifest is a Job, or a CronJob with what its Jobs have in common.
type manifest struct {
	kind string
	// meta is the object's own; a CronJob's Jobs do not inherit it.
	meta     metav1.ObjectMeta
	template batchv1.JobTemplateSpec
	// cron is the CronJob's spec; nil for a Job.
	cron *batchv1.CronJobSpec
	// unknown are fields that Kubernetes does not know.
	unknown []string
}

// what names the object, for people.
func (m *manifest) what() string {
	return fmt.Sprintf("%s %s", m.kind, cmp.Or(m.meta.Name, strings.TrimSuffix(m.meta.GenerateName, "-"), "without a name"))
}

// read finds the Jobs and CronJobs in a stream of YAML or JSON documents, also within Lists. others names what else there is.
func read(stream []byte) (found []*manifest, others []string, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, others, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			if bytes.Contains(document, []byte("{{")) {
				err = fmt.Errorf("%w (this looks like a template: render it first, by helm template for instance)", err)
			}
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		if string(text) == "null" {
			continue
		}
		some, more, err := readObject(text)
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		found, others = append(found, some...), append(others, more...)
	}
}

// object is what all objects have, and Lists.
type object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func readObject(text []byte) (found []*manifest, others []string, err error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, nil, fmt.Errorf("this is no Kubernetes object: %w", err)
	}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	m := &manifest{kind: o.Kind}
	switch {
	case o.Kind == "":
		return nil, nil, errors.New("this is no Kubernetes object: it has no kind")
	case strings.HasSuffix(o.Kind, "List") && o.Items != nil:
		for _, item := range o.Items {
			some, more, err := readObject(item)
			if err != nil {
				return nil, nil, err
			}
			found, others = append(found, some...), append(others, more...)
		}
		return found, others, nil
	case o.Kind == "Job" && group == batchv1.GroupName:
		var job batchv1.Job
		m.unknown, err = decode(text, &job)
		m.meta, m.template = job.ObjectMeta, batchv1.JobTemplateSpec{ObjectMeta: job.ObjectMeta, Spec: job.Spec}
	case o.Kind == "CronJob" && group == batchv1.GroupName:
		var cron batchv1.CronJob
		m.unknown, err = decode(text, &cron)
		m.meta, m.template, m.cron = cron.ObjectMeta, cron.Spec.JobTemplate, &cron.Spec
	default:
		return nil, []string{strings.TrimSpace(o.Kind + " " + o.Metadata.Name)}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", m.what(), err)
	}
	if len(m.template.Spec.Template.Spec.Containers) == 0 {
		return nil, nil, fmt.Errorf("%s has no containers", m.what())
	}
	return []*manifest{m}, nil, nil
}

// decode reads an object as the API server does, and lists the fields that it does not know.
func decode(text []byte, into any) (unknown []string, err error) {
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, err
	}
	for _, e := range strict {
		unknown = append(unknown, e.Error())
	}
	slices.Sort(unknown)
	return unknown, nil
}
