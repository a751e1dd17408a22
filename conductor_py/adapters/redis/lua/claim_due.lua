-- PURPOSE    Fire due timers of one home shard and take the leases of their executions.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py; executions are read out of
--            the timers)
-- ARGV       now, channel, home, limit, holder, lease in ms, take the lease, tries before quarantine, wait there in ms
-- RETURNS    {loaded, …}
-- INVARIANT  A firing moves an entry, it never pops it; an entry goes only when its owner has ended. One event a
--            deadline; those of one moment in the order of the attempts. What cannot be read is put aside, and the
--            others are handed out. An execution that may be what kills its deciders is handed out last, one at a time.
-- BOUND      The limit; of each execution events 1,000, fields 1 MB.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include claim
-- @include wake
-- @include read
-- @include loaded
-- @include unpark
-- @include setback
-- @include damage
-- @include late
-- @include text
local P, now, channel, timers = KEYS[1], store_now(ARGV[1]), ARGV[2], KEYS[1] .. 'timers:' .. ARGV[3]
goes_on(P)
local lease_ms, take = tonumber(ARGV[6]), ARGV[7] == '1'
local order, seen = {}, {}

local function visit(id)
  if not seen[id] then
    seen[id] = true
    order[#order + 1] = id
  end
end

-- The timer of an attempt: tells the inbox, once for each deadline.
local function fire_attempt(member)
  local id, seq = string.sub(member, 3, 38), string.sub(member, 40)
  local key = P .. 'exec:' .. id
  local present = redis.call('HMGET', key, 'v', 'h', 'a:' .. seq, 'c:' .. seq)
  local c = present[4] and read_claim(present[4])
  if not present[1] or not present[3] or not c or c.closed == 1
    or not is_open(read_record(present[1]), present[2], tonumber(seq), cjson.decode(present[3])) then
    redis.call('ZREM', timers, member)
    return
  end
  redis.call('ZADD', timers, int(now + 30000), member)
  if c.cb ~= c.at then
    local held = c.held == 1
    redis.call('RPUSH', P .. 'inbox:' .. id, string.format('%s {"t":"due","k":%d,"d":%d}', seq, held and c.k or 0,
      held and c['until'] or 0))
    c.cb = c.at
    redis.call('HSET', key, 'c:' .. seq, write_claim(c))
    visit(id)
  end
end

-- One step for one member: what goes wrong in it concerns no other.
local noted = redis.call('EXISTS', P .. 'damaged') == 1
local function guarded(member, step, ...)
  local done, problem = pcall(must_be_text, member)
  if done then
    done, problem = pcall(step, ...)
  end
  if done then
    forget_damage(P, 'timers:' .. ARGV[3], member, noted)
  elseif is_its_own(P, string.sub(member, 3, 38), problem) then
    put_aside(P, 'timers:' .. ARGV[3], member, problem, now)
  else
    error(problem)
  end
end

local due = redis.call('ZRANGE', timers, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ARGV[4], 'WITHSCORES')
note_late(P, ARGV[3], tonumber(due[2] or now), now)

-- Members of one score come in the order of their texts, where 10 stands before 2.
local function by_number(one, other)
  local id, other_id = string.sub(one, 3, 38), string.sub(other, 3, 38)
  if id ~= other_id then
    return id < other_id
  end
  return (tonumber(string.sub(one, 40)) or -1) < (tonumber(string.sub(other, 40)) or -1)
end

local members, next_one = {}, 1
while due[next_one] do
  local run, score = {}, due[next_one + 1]
  while due[next_one + 1] == score do
    run[#run + 1] = due[next_one]
    next_one = next_one + 2
  end
  if #run > 1 then
    table.sort(run, by_number)
  end
  for _, member in ipairs(run) do
    members[#members + 1] = member
  end
end
for _, member in ipairs(members) do
  if string.sub(member, 1, 2) == 'x:' then
    visit(string.sub(member, 3))
  else
    guarded(member, fire_attempt, member)
  end
end

local out, suspects = {}, {}

local function hand_out(id, record, header)
  local key, until_ms = P .. 'exec:' .. id, int(now + lease_ms)
  local found = loaded(P, id, record, header, now)
  redis.call('ZADD', timers, until_ms, 'x:' .. id)
  if take then
    redis.call('HSET', key, 'l', until_ms .. ' ' .. ARGV[5])
  end
  out[#out + 1] = found
end

-- Is it a suspect, does it wait? Counts one setback more when whoever took its lease has vanished with it.
local function suspected(id, record, lease, counted)
  local ends, owner = lease_of(lease)
  if owner == QUARANTINE then
    redis.call('ZREM', P .. 'quarantine', id)
    redis.call('HSET', P .. 'exec:' .. id, 'l', '')
  elseif take and ends > 0 then
    local tries, kept = set_back(P, id, record, counted, VANISHED, tonumber(ARGV[8]), tonumber(ARGV[9]), now)
    return tries > 1, kept or tries > 1
  end
  local tries, _, reason = setback_of(counted, record.version)
  return tries > 1 and reason == VANISHED, false
end

local function take_up(id)
  local key, member = P .. 'exec:' .. id, 'x:' .. id
  local present = redis.call('HMGET', key, 'v', 'h', 'l', 'q')
  local record = present[1] and read_record(present[1])
  local waiting = record and redis.call('EXISTS', P .. 'inbox:' .. id) == 1
  if not record or (record.terminal and not waiting and not is_draining(present[2])) then
    redis.call('ZREM', timers, member)
  else
    local ends = lease_of(present[3])
    if record.status ~= 'PAUSED' and redis.call('EXISTS', P .. 'park:' .. id) == 1 then
      unpark(P, channel, id)
    end
    if ends > now then
      redis.call('ZADD', timers, int(ends), member)
    elseif ends > 0 or present[4] then
      local suspect, waits = suspected(id, record, present[3], present[4])
      if suspect and not waits then
        suspects[#suspects + 1] = {id, record, present[2] or ''}
      elseif not waits then
        hand_out(id, record, present[2] or '')
      end
    else
      hand_out(id, record, present[2] or '')
    end
  end
end

for _, id in ipairs(order) do
  guarded('x:' .. id, take_up, id)
end
-- One comes last, when all others are decided; the rest a little later: they must not keep those behind them waiting.
for n, suspect in ipairs(suspects) do
  if n == 1 then
    guarded('x:' .. suspect[1], hand_out, suspect[1], suspect[2], suspect[3])
  else
    redis.call('ZADD', timers, int(now + 200), 'x:' .. suspect[1])
  end
end
return out
