-- PURPOSE    Create or replace a schedule that has the expected version.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, name, document, expected version (0: there is none), next instant in ms (0: none), armed
-- RETURNS    the new version, 0 when it has another version
-- INVARIANT  It has a due entry exactly when it is armed and has an instant. An unchanged instant keeps the count of its
--            claims and, unless it is armed or disarmed, its claim.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include schedule
local P, now, name = KEYS[1], store_now(ARGV[1]), ARGV[2]
may_need_room(P, #ARGV[3])
local expected, next_ms, armed = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'

local known = read_schedule(P, name)
if (known and known.version or 0) ~= expected then
  return 0
end
local version = math.max(expected + 1, now)
local same = known and known.next_ms == next_ms
write_schedule(P, name, {version = version, generation = known and known.generation or version, next_ms = next_ms,
  armed = armed, tries = same and known.tries or 0, document = ARGV[3]})
if not same or known.armed ~= armed then
  arm_schedule(P, name, armed and next_ms or 0)
end
return version
