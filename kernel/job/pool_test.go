package job

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rule TP:375: the queue is taken in turns across sessions: one that wants many jobs does not keep the others out.
func TestPoolIsFair(t *testing.T) {
	p := NewPool(2)
	var given []Place
	p, got := p.Want("busy", []string{"b1", "b2", "b3", "b4"})
	given = append(given, got...)
	p, got = p.Want("静", []string{"q1"})
	given = append(given, got...)
	p, got = p.Want("other", []string{"o1"})
	given = append(given, got...)
	for len(given) < 6 {
		done := given[0]
		for _, g := range given {
			if p.running[g] {
				done = g
				break
			}
		}
		p, got = p.Release(done)
		if len(got) == 0 {
			t.Fatalf("a place was given back and nobody got it: %v", given)
		}
		given = append(given, got...)
	}
	var order []string
	for _, g := range given {
		order = append(order, g.Job)
	}
	if fmt.Sprint(order) != "[b1 b2 b3 q1 o1 b4]" {
		t.Errorf("served in the order %v", order)
	}
}

// Rule TP:375: at most 4 at once; nobody is given a place twice; a place that is free while somebody wants one is given away;
// whoever goes leaves nothing behind.
func TestPoolKeepsItsPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(PoolSize)
		holders := []string{"a", "b", "会话", "d"}
		running := map[Place]bool{}
		wants := map[string][]string{}
		take := func(given []Place) {
			for _, g := range given {
				if running[g] {
					t.Fatalf("%v was given twice", g)
				}
				if !slices.Contains(wants[g.Holder], g.Job) {
					t.Fatalf("%v was not wanted", g)
				}
				running[g] = true
				wants[g.Holder] = slices.DeleteFunc(slices.Clone(wants[g.Holder]), func(j string) bool { return j == g.Job })
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"want": func(t *rapid.T) {
				h := rapid.SampledFrom(holders).Draw(t, "holder")
				jobs := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}), 0, 5, rapid.ID[string]).Draw(t, "jobs")
				wants[h] = slices.DeleteFunc(slices.Clone(jobs), func(j string) bool { return running[Place{h, j}] })
				next, given := p.Want(h, jobs)
				p = next
				take(given)
			},
			"release": func(t *rapid.T) {
				pl := Place{rapid.SampledFrom(holders).Draw(t, "holder"), rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}).Draw(t, "job")}
				delete(running, pl)
				next, given := p.Release(pl)
				p = next
				take(given)
			},
			"forget": func(t *rapid.T) {
				h := rapid.SampledFrom(holders).Draw(t, "holder")
				for pl := range running {
					if pl.Holder == h {
						delete(running, pl)
					}
				}
				wants[h] = nil
				next, given := p.Forget(h)
				p = next
				take(given)
			},
			"": func(t *rapid.T) {
				if len(running) > PoolSize || p.Running() != len(running) {
					t.Fatalf("%d run, the pool says %d", len(running), p.Running())
				}
				left := 0
				for _, w := range wants {
					left += len(w)
				}
				if left > 0 && len(running) < PoolSize {
					t.Fatalf("%d are wanted and only %d run", left, len(running))
				}
			},
		})
	})
}
