-- Up Migration
-- The tenant is in every key: '' where there is none.

-- One row per event, written by the plan. `remaining` counts the effects that have not ended well.
CREATE TABLE events (
  tenant       text NOT NULL,
  event_key    text NOT NULL,
  source       text NOT NULL,
  event_id     text NOT NULL,
  type         text NOT NULL,
  digest       text NOT NULL,
  input        text NOT NULL,
  state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'dead_lettered', 'abandoned')),
  remaining    integer NOT NULL,
  received_at  timestamptz NOT NULL,
  recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at     timestamptz,
  abandoned_by     text,
  abandoned_reason text,
  PRIMARY KEY (tenant, event_key)
);

-- (event, effect) -> business key, from the first plan on: a later plan of the event reuses it whatever the code says.
CREATE TABLE event_effects (
  tenant       text NOT NULL,
  event_key    text NOT NULL,
  effect       text NOT NULL,
  business_key text NOT NULL,
  outcome      text CHECK (outcome IN ('done', 'already_done', 'stale')),
  -- The name that the completion stands under, where the effect was renamed since.
  completed_as text,
  ended_at     timestamptz,
  PRIMARY KEY (tenant, event_key, effect)
);
CREATE INDEX event_effects_by_business_key ON event_effects (business_key, effect);

-- The uniqueness check. Done is final: no statement changes a row whose state is done.
CREATE TABLE effects (
  tenant       text NOT NULL,
  effect       text NOT NULL,
  business_key text NOT NULL,
  state        text NOT NULL CHECK (state IN ('claimed', 'done')),
  fence        bigint NOT NULL,
  owner        uuid NOT NULL,
  event_key    text NOT NULL,
  event        text NOT NULL,
  data_digest  text NOT NULL,
  claimed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  done_at      timestamptz,
  result       text,
  PRIMARY KEY (tenant, effect, business_key)
);

-- Bodies, keyed by event and digest and written once, so that no duplicate overwrites what a running event will read.
CREATE TABLE payloads (
  tenant     text NOT NULL,
  event_key  text NOT NULL,
  digest     text NOT NULL,
  body       bytea NOT NULL,
  stored_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, event_key, digest)
);
CREATE INDEX payloads_by_time ON payloads (stored_at);

-- One open entry per event; `runs` keeps a retried write from counting twice.
CREATE TABLE dead_letters (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant      text NOT NULL,
  event_key   text NOT NULL,
  source      text NOT NULL,
  event_id    text NOT NULL,
  type        text NOT NULL,
  code        text NOT NULL,
  message     text NOT NULL,
  input       text NOT NULL,
  effects     text NOT NULL,
  runs        text[] NOT NULL,
  occurrences integer NOT NULL DEFAULT 1,
  opened_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  closed_at   timestamptz,
  closed_by   text
);
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (tenant, event_key) WHERE closed_at IS NULL;
CREATE INDEX dead_letters_by_event ON dead_letters (tenant, event_key);

-- Evidence of every delivery. `event_key` is null where the request was refused before it had one.
CREATE TABLE deliveries (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant       text NOT NULL,
  source       text NOT NULL,
  event_key    text,
  path         text,
  code         text,
  status       integer NOT NULL,
  digest       text,
  body_differs boolean NOT NULL DEFAULT false,
  received_at  timestamptz NOT NULL
);
CREATE INDEX deliveries_by_event ON deliveries (tenant, event_key, received_at) WHERE event_key IS NOT NULL;
CREATE INDEX deliveries_by_time ON deliveries (received_at);

-- What people did, each under its own identity: replays, abandons.
CREATE TABLE acts (
  tenant    text NOT NULL,
  id        text NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('replay', 'abandon')),
  event_key text NOT NULL,
  actor     text NOT NULL,
  reason    text NOT NULL,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen      text NOT NULL,
  outcome   text NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX acts_by_event ON acts (tenant, event_key, at);

-- A local activity that was begun late and may have killed its worker leaves its mark here.
CREATE TABLE attempt_marks (
  tenant    text NOT NULL,
  event_key text NOT NULL,
  run_id    text NOT NULL,
  step      text NOT NULL,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, event_key, run_id, step)
);

-- How far each sweep has looked.
CREATE TABLE sweeps (
  name        text PRIMARY KEY,
  swept_until timestamptz NOT NULL
);

-- Down Migration
