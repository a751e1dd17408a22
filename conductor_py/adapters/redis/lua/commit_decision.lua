-- PURPOSE    Apply the changes of one decision if what it read is still so.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, operation, version, home, name, last event consumed, holder, lease in ms, let go,
--            fencing, take the lease, first event read, their digest, status, terminal, generation, due, sections
-- RETURNS    {OK, now, version, loaded | false[, executions admitted]} {STALE | CLAIM_MOVED |
--            RECEIVER_GONE | NEED_PLAN | GONE, now}
--            {CHAIN_FULL, now, {starts, nested} that have room}
-- INVARIANT  All or nothing. A repeat is known by its operation before versions are compared. Fencing off removes
--            the comparison of versions only: generation, terminal, claims and events are structure. What leaves the
--            inbox is what was read: a server that lost its last writes gives the same numbers to other events. A
--            child that it creates is counted by its plan, and under its root, or all are refused; a header that
--            names another plan moves the count. Redis that is full is no reason not to end, nor to go on a little.
-- BOUND      The number of arguments; events compared, and returned: 1,000; parked entries returned to queues: 2,000;
--            executions admitted: 100.
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
local P, now, channel, id, operation = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local key, inbox = P .. 'exec:' .. id, P .. 'inbox:' .. id
local consumed, holder, lease_ms = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local terminal, generation, due = ARGV[17] == '1', tonumber(ARGV[18]), tonumber(ARGV[19])

local present = redis.call('HMGET', key, 'v', 'l', 'h')
if not present[1] then
  return {'GONE', now}
end
local record = read_record(present[1])
local ends, owner = lease_of(present[2])
if record.last == operation then
  if owner == holder and ends > now and redis.call('EXISTS', inbox) == 1 then
    return {'OK', now, record.version, loaded(P, id, record, present[3], now)}
  end
  return {'OK', now, record.version, false}
end
if ARGV[12] == '1' and record.version ~= tonumber(ARGV[5]) then
  return {'STALE', now}
end
if generation < record.generation or (record.terminal and not terminal and generation == record.generation)
  or tonumber(ARGV[14]) ~= record.base or consumed < record.base - 1 then
  return {'STALE', now}
end
local used = consumed - record.base + 1
if used > 0 and redis.sha1hex(table.concat(redis.call('LRANGE', inbox, 0, used - 1), '\n')) ~= ARGV[15] then
  return {'STALE', now}
end
local sections = read_sections(20)
if sections.G then
  local claims = attempts_in(key, sections.G, 3, {'c:'})
  for n = 1, #claims do
    local i = sections.G[1] + (n - 1) * 3
    local c = read_claim(claims[n])
    local claim, until_ms = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local same = (claim == c.k and until_ms == c['until']) or (claim == 0 and c.held == 0)
    if not same or c.closed == 1 then
      return {'CLAIM_MOVED', now}
    end
  end
end
if lacks_receiver(P, sections.M) then
  return {'RECEIVER_GONE', now}
end
local old_plans = plans_to_touch(P, sections.P, now)
if not old_plans then
  return {'NEED_PLAN', now}
end
local full = chain_is_full(P, sections.H)
if full then
  return {'CHAIN_FULL', now, full}
end
if sections.C and tonumber(ARGV[sections.C[1]]) > 0 then
  refuse_above(NEARLY_FULL)
end
if sections.C then
  may_need_room(P, math.huge)
elseif terminal or not is_full(P) then
  goes_on(P)
else
  -- Lines that scripts have printed hold up no execution: they are not kept.
  local printed = sections.K and given_bytes(sections.K[1], sections.K[2]) or 0
  sections.K = nil
  may_need_room(P, given_bytes(20) - printed)
end

touch_plans(old_plans, now)
count_chain(P, sections.H)
local waiting = redis.call('LLEN', inbox)
if used > 0 then
  redis.call('LTRIM', inbox, used, -1)
  record.base = record.base + used
end
local left = waiting - used + own_events(sections, id)
local asked, woken = sections.L, nil
local enters = asked and ARGV[asked[1]] == 'enter'
local room = enters and has_room(P, asked, now)
if enters and (room or ARGV[asked[1] + 3] == '1') then
  left = left + 1
end
local anew = generation > record.generation
local ended, began = terminal and not record.terminal, record.terminal and not terminal
record.version, record.last = math.max(record.version + 1, now), operation
record.terminal, record.generation, record.status = terminal, generation, ARGV[16]
local quarantined = owner == 'quarantine'
if quarantined then
  redis.call('ZREM', P .. 'quarantine', id)
end
local others = owner ~= holder and ends > now and not quarantined
local keep = left > 0 and ARGV[11] == '0' and not others
local lease = keep and ARGV[13] == '1' and int(now + lease_ms) .. ' ' .. holder or (others and present[2] or '')
local parked = apply_changes(P, channel, id, record, lease, ARGV[7], sections, now)
local header = sections.F and header_among(sections.F[1], sections.F[2])
if header then
  local old_plan, new_plan = plan_of_header(present[3]), plan_of_header(header)
  if old_plan ~= new_plan then
    count_reference(P, old_plan, -1)
    count_reference(P, new_plan, 1)
  end
end
if enters then
  enter(P, id, asked, room, now)
elseif asked then
  woken = leave(P, id, asked, now)
elseif anew and not terminal then
  count_again(P, id, header, now)
end
settle_lease(P, id, record, left > 0 or parked, due, lease_ms, keep, now)
if ended then
  redis.call('ZREM', P .. 'running:' .. ARGV[7], id)
  publish(channel, 'x:' .. id)
elseif began then
  redis.call('ZADD', P .. 'running:' .. ARGV[7], int(now), id)
end
if keep then
  return {'OK', now, record.version, loaded(P, id, record, redis.call('HGET', key, 'h') or '', now), woken}
end
return {'OK', now, record.version, false, woken}
