-- Up Migration
-- Seeing and acting: what lists and traces are read from, and what people do.

-- ignored  no effect subscribed to its type; recorded because its source records all
ALTER TABLE events DROP CONSTRAINT events_state_check;
ALTER TABLE events ADD CONSTRAINT events_state_check
  CHECK (state IN ('open', 'done', 'dead_lettered', 'abandoned', 'ignored'));
CREATE INDEX events_by_time ON events (tenant, received_at DESC, event_key);
CREATE INDEX events_unfinished ON events (tenant, state, received_at DESC, event_key) WHERE state <> 'done';
-- For identities of which only the id, or its beginning, is known; whatever the tenant and the source. Of an event that was
-- started by hand the id may be longer than an entry of an index.
CREATE INDEX events_by_id ON events (left(event_id, 256) text_pattern_ops);

-- observed  its mode is `observe`: it was planned, and nothing was claimed or run
ALTER TABLE event_effects DROP CONSTRAINT event_effects_outcome_check;
ALTER TABLE event_effects ADD CONSTRAINT event_effects_outcome_check
  CHECK (outcome IN ('done', 'already_done', 'stale', 'observed'));
DROP INDEX event_effects_by_business_key;
CREATE INDEX event_effects_by_business_key ON event_effects (business_key text_pattern_ops, effect);

-- The act that brought a completion in from a claim table of before; null for our own.
ALTER TABLE effects ADD COLUMN adopted_by text;

-- False where a person handed the event in, by the act named.
ALTER TABLE deliveries ADD COLUMN signed boolean NOT NULL DEFAULT true;
ALTER TABLE deliveries ADD COLUMN act text;

-- Who looks after it, and what they found.
ALTER TABLE dead_letters ADD COLUMN owner text;
ALTER TABLE dead_letters ADD COLUMN note text;
CREATE INDEX dead_letters_listed ON dead_letters (tenant, id) WHERE closed_at IS NULL;

ALTER TABLE acts DROP CONSTRAINT acts_kind_check;
ALTER TABLE acts ADD CONSTRAINT acts_kind_check CHECK (kind IN
  ('replay', 'replay_many', 'abandon', 'resolve', 'recover', 'republish', 'retry_now', 'pause', 'resume', 'disable',
   'enable', 'ingest', 'adopt', 'note'));
CREATE INDEX acts_by_time ON acts (tenant, at DESC, id);

-- Effects and sources that are paused: their attempts wait, and spend nothing. Endpoints have a state of their own.
CREATE TABLE pauses (
  kind   text NOT NULL CHECK (kind IN ('effect', 'source')),
  -- Of an effect, the name that the ledger claims it under.
  name   text NOT NULL,
  -- Of one tenant, or of all, whose `tenant` is ''.
  tenant text NOT NULL,
  every_tenant boolean NOT NULL,
  act    text NOT NULL,
  actor  text NOT NULL,
  reason text NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (kind, name, every_tenant, tenant)
);

-- A replay of many events: the set as it was frozen, and what became of each. `state` is open until all have an outcome, or a
-- person has cancelled the rest.
CREATE TABLE replay_sets (
  tenant    text NOT NULL,
  -- That of its act.
  id        text NOT NULL,
  -- JSON, for people.
  filter    text NOT NULL,
  -- Only this effect is run; null for all of each event.
  effect    text,
  size      integer NOT NULL,
  -- Events per second; null for no limit.
  rate      numeric CHECK (rate > 0),
  state     text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'ended', 'cancelled')),
  frozen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at  timestamptz,
  PRIMARY KEY (tenant, id)
);
CREATE TABLE replay_set_items (
  tenant    text NOT NULL,
  set_id    text NOT NULL,
  position  integer NOT NULL,
  event_key text NOT NULL,
  -- source/event-id
  event     text NOT NULL,
  -- Null until it was asked for.
  outcome   text,
  -- Why it was refused.
  note      text,
  ended_at  timestamptz,
  PRIMARY KEY (tenant, set_id, position)
);
CREATE INDEX replay_set_items_left ON replay_set_items (tenant, set_id, position) WHERE outcome IS NULL;

-- A bounded sample of the requests that were refused at the door.
CREATE TABLE rejected_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source      text NOT NULL,
  code        text NOT NULL,
  reason      text NOT NULL,
  status      integer NOT NULL,
  method      text NOT NULL,
  -- JSON: every header's name, and the values of those that cannot hold a secret.
  headers     text NOT NULL,
  -- The network that it came from: the first 24 bits of an IPv4 address, 48 of an IPv6 address.
  network     text,
  -- Of the body as far as it was read; null where none was.
  digest      text,
  bytes       integer,
  received_at timestamptz NOT NULL,
  -- Sealed, and only where the source asks for it.
  body        bytea,
  body_key    text,
  body_until  timestamptz
);
CREATE INDEX rejected_requests_by_time ON rejected_requests (received_at DESC, id);
CREATE INDEX rejected_requests_by_source ON rejected_requests (source, received_at DESC, id);
CREATE INDEX rejected_requests_with_body ON rejected_requests (body_until) WHERE body IS NOT NULL;

-- How many there were, and how many of them are kept.
CREATE TABLE rejected_counts (
  hour    timestamptz NOT NULL,
  source  text NOT NULL,
  code    text NOT NULL,
  reason  text NOT NULL,
  count   bigint NOT NULL,
  sampled integer NOT NULL,
  PRIMARY KEY (hour, source, code, reason)
);

-- Key of the event whose effect published it, whatever the tenant it was published for.
ALTER TABLE publications ADD COLUMN caused_by text;
CREATE INDEX publications_by_cause ON publications (caused_by) WHERE caused_by IS NOT NULL;
CREATE INDEX publications_by_identity ON publications (publication text_pattern_ops);

-- Down Migration
