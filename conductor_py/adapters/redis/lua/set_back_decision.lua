-- PURPOSE    Count a decision that failed: its execution is tried again after a wait, or goes into quarantine.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, holder, version, reason, most tries, wait in quarantine in ms
-- RETURNS    {OK, in quarantine} {STALE | BUSY | GONE, 0}
-- INVARIANT  Inbox and version do not change. What has moved on is not set back. A wake-up is owed as before.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include setback
local P, now, id = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'l', 'q')
if not present[1] then
  return {'GONE', 0}
end
local record = read_record(present[1])
if record.version ~= tonumber(ARGV[4]) then
  return {'STALE', 0}
end
local ends, owner = lease_of(present[2])
if ends > now and owner ~= ARGV[3] then
  return {'BUSY', 0}
end
local _, kept = set_back(P, id, record, present[3], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), now)
return {'OK', kept and 1 or 0}
