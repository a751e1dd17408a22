-- PURPOSE    Create an execution with its first decision.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, operation, home, name, caller's now, idempotency key, its life in ms, on existing,
--            revision of the definitions, holder, lease in ms, take the lease, whose wish it is (NEW | OWN | WANTED),
--            status, terminal, generation, due, sections
-- RETURNS    {OK, now, version, loaded | false} {EXISTS, now, id} {CLOCK | META_MOVED | NEED_PLAN | LIMITED,
--            now} {CHAIN_FULL, now, {starts, nested} that have room}
-- INVARIANT  All or nothing; a repeat of the operation is OK and changes nothing. The plan that the header of a new
--            execution names counts it.
--            What it creates under a root is counted, or all of it is refused.
-- BOUND      The number of arguments.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include claim
-- @include wake
-- @include end_attempt
-- @include read
-- @include loaded
-- @include answers
-- @include unpark
-- @include references
-- @include touch
-- @include apply
-- @include chain
-- @include permits
-- @include admission
local P, now, channel = KEYS[1], store_now(ARGV[1]), ARGV[2]
local id, operation, home, name = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local holder, lease_ms = ARGV[12], tonumber(ARGV[13])
local due = tonumber(ARGV[19])

local present = redis.call('HGET', P .. 'exec:' .. id, 'v')
if present then
  local record = read_record(present)
  if record.begun == operation then
    return {'OK', now, record.version, false}
  end
  return {'EXISTS', now, id}
end
-- The name ends at the first colon, so that pay:eu with key 7 is not pay with key eu:7. A name that is written
-- otherwise than releases before wrote it is looked for in their form, too, where the execution is its own.
local escaped = string.gsub(name, '[%%:]', {['%'] = '%25', [':'] = '%3A'})
local idem = ARGV[8] ~= '' and P .. 'idem:' .. escaped .. ':' .. ARGV[8]

local function name_of(execution)
  local header = redis.call('HGET', P .. 'exec:' .. execution, 'h')
  return header and cjson.decode(header).name
end

if idem then
  local taken = redis.call('GET', idem)
  if taken and string.find(ARGV[8], ':', 1, true) then
    taken = (name_of(taken) or name) == name and taken
  elseif not taken and escaped ~= name then
    taken = redis.call('GET', P .. 'idem:' .. name .. ':' .. ARGV[8])
    taken = taken and name_of(taken) == name and taken
  end
  if taken then
    local other = redis.call('HGET', P .. 'exec:' .. taken, 'v')
    if ARGV[10] ~= 'FAIL_ON_RUNNING' or (other and not read_record(other).terminal) then
      return {'EXISTS', now, taken}
    end
  end
end
if ARGV[15] == 'WANTED' then
  may_need_room(P, math.huge)
else
  if ARGV[15] == 'OWN' then
    refuse_above(NEARLY_FULL)
  end
  needs_room(P)
end
if math.abs(now - tonumber(ARGV[7])) > 1000 then
  return {'CLOCK', now}
end
if ARGV[11] ~= '' and (redis.call('GET', P .. 'meta:revision') or '0') ~= ARGV[11] then
  return {'META_MOVED', now}
end
local sections = read_sections(20)
local old_plans = plans_to_touch(P, sections.P, now)
if not old_plans then
  return {'NEED_PLAN', now}
end
local asked = sections.L
local room = asked and has_room(P, asked, now)
if asked and not room and ARGV[asked[1] + 3] == '1' then
  return {'LIMITED', now}
end
local full = chain_is_full(P, sections.H)
if full then
  return {'CHAIN_FULL', now, full}
end

touch_plans(old_plans, now)
count_chain(P, sections.H)
redis.call('UNLINK', P .. 'exec:' .. id, P .. 'ckpt:' .. id)  -- of an attempt to restore one
local record = {version = math.max(1, now), terminal = ARGV[17] == '1', generation = tonumber(ARGV[18]), base = 1,
  home = home, begun = operation, last = operation, status = ARGV[16]}
local own = own_events(sections, id) > 0 or room
local keep = own and holder ~= ''
local lease = keep and ARGV[14] == '1' and int(now + lease_ms) .. ' ' .. holder or ''
apply_changes(P, channel, id, record, lease, name, sections, now)
if sections.F then
  count_reference(P, plan_of_header(header_among(sections.F[1], sections.F[2])), 1)
end
if asked then
  enter(P, id, asked, room, now)
end
if own or due > 0 then
  settle_lease(P, id, record, own, due, lease_ms, keep, now)
end
if not record.terminal then
  redis.call('ZADD', P .. 'running:' .. name, int(now), id)
end
if idem then
  redis.call('SET', idem, id, 'PX', ARGV[9])
end
if keep then
  return {'OK', now, record.version, loaded(P, id, record, redis.call('HGET', P .. 'exec:' .. id, 'h') or '', now)}
end
return {'OK', now, record.version, false}
