package session

// Observation returns what the session knows of the file with that key.
func (s *State) Observation(key string) (Observed, bool) {
	o, ok := s.observed[key]
	return o, ok
}

// Observation returns what the session knows of the file with that key; see
// [State.Observation].
func (s *Session) Observation(key string) (o Observed, ok bool) {
	s.View(func(state *State) { o, ok = state.Observation(key) })
	return o, ok
}
