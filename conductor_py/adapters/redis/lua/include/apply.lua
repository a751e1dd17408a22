-- The changes of a decision. The caller's arguments end in sections "<letter> <number of values> <values…>"; empty
-- ones are left out. Letters: F fields, D deleted, E ended, R reopened, O offers (seq, queue, shard, score, due), T
-- attempt timers (seq, due), C children (how many of them nobody waits for, then of each id, home, name, generation,
-- event, number of field values, fields…), M messages (id, event, wanted), I own events, X effects (id, document, due,
-- when it may be due at the soonest: 0 or an instant), A answers (operation, answer), P plans, G claim guards (seq,
-- claim, until), H chain (chain.lua), U unpark, Z touched attempts (how long they are gathered in ms, seqs), K lines of
-- logs, of which the execution keeps 10,000.
local function read_sections(from)
  local sections = {}
  local i = from
  while i < #ARGV do
    local n = tonumber(ARGV[i + 1])
    sections[ARGV[i]] = {i + 2, i + 1 + n}
    i = i + 2 + n
  end
  return sections
end

-- Plans that nobody touched for an hour, or nil when one is missing.
local function plans_to_touch(P, section, now)
  local old = {}
  if section then
    for i = section[1], section[2] do
      local key = P .. 'plan:' .. ARGV[i]
      local used = redis.call('HGET', key, 'used_at')
      if not used then
        return nil
      end
      if now - tonumber(used) > 3600000 then
        old[#old + 1] = key
      end
    end
  end
  return old
end

local function touch_plans(keys, now)
  for _, key in ipairs(keys) do
    redis.call('HSET', key, 'used_at', int(now))
  end
end

-- How many events the execution appends to its own inbox.
local function own_events(sections, id)
  local n = sections.I and sections.I[2] - sections.I[1] + 1 or 0
  if sections.M then
    for i = sections.M[1], sections.M[2], 3 do
      if ARGV[i] == id then
        n = n + 1
      end
    end
  end
  return n
end

local function in_chunks(command, key, from, upto, size)
  for first = from, upto, size do
    redis.call(command, key, unpack(ARGV, first, math.min(first + size - 1, upto)))
  end
end

-- State and claim side of the attempts whose numbers stand `step` apart in a section.
local function attempts_in(key, section, step, kinds)
  local names = {}
  for i = section[1], section[2], step do
    for _, kind in ipairs(kinds) do
      names[#names + 1] = kind .. ARGV[i]
    end
  end
  local values = {}
  for first = 1, #names, 1000 do
    local upto = math.min(first + 999, #names)
    for _, value in ipairs(redis.call('HMGET', key, unpack(names, first, upto))) do
      values[#values + 1] = value
    end
  end
  return values
end

-- A claim closed by a result has left everything already: most ends are of that kind.
local function apply_ended(P, channel, home, id, section)
  local key = P .. 'exec:' .. id
  local claims = attempts_in(key, section, 1, {'c:'})
  for i = section[1], section[2] do
    local claim = claims[i - section[1] + 1]
    if not claim or not string.find(claim, '"closed":1', 1, true) then
      local state = redis.call('HGET', key, 'a:' .. ARGV[i])
      if state then
        end_attempt(P, channel, home, id, ARGV[i], cjson.decode(state), claim and cjson.decode(claim))
      end
    end
  end
end

local function apply_reopened(key, section)
  local values = attempts_in(key, section, 1, {'c:'})
  for i = section[1], section[2] do
    local text = values[i - section[1] + 1]
    if text then
      local c = cjson.decode(text)
      c.closed, c.done = 0, 0
      redis.call('HSET', key, 'c:' .. ARGV[i], write_claim(c))
    end
  end
end

local function apply_offers(P, channel, home, id, section, now)
  local key = P .. 'exec:' .. id
  local claims = attempts_in(key, section, 5, {'c:'})
  local known, at = {}, 0
  for i = section[1], section[2], 5 do
    local seq, queue, shard, due = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 4])
    local lane, member = queue .. ':' .. shard, id .. '-' .. ARGV[i]
    local ready, delayed = P .. 'queue:' .. lane, P .. 'delayed:' .. lane
    at = at + 1
    if claims[at] then
      local c = cjson.decode(claims[at])
      if c.at > 0 then
        redis.call('ZREM', P .. 'timers:' .. home, 'a:' .. member)
      end
      if c.permit == 1 then
        local a = cjson.decode(redis.call('HGET', key, 'a:' .. seq))
        redis.call('ZREM', P .. 'limit:' .. a.def, member)
      end
      if c.held == 1 then
        free_claim(c)
      end
      c.held, c.closed, c.permit, c.at = 0, 0, 0, 0
      redis.call('HSET', key, 'c:' .. seq, write_claim(c))
      redis.call('ZREM', due > now and ready or delayed, member)
    end
    if due > now then
      redis.call('ZADD', delayed, ARGV[i + 4], member)
    else
      redis.call('ZADD', ready, ARGV[i + 3], member)
      publish(channel, 'q:' .. queue)
    end
    if not known[lane] then
      known[lane] = true
      redis.call('SADD', P .. 'queues', queue .. '\n' .. shard)
    end
  end
end

local function apply_timers(P, home, id, section)
  local key, timers = P .. 'exec:' .. id, P .. 'timers:' .. home
  local claims = attempts_in(key, section, 2, {'c:'})
  local at = 0
  for i = section[1], section[2], 2 do
    at = at + 1
    local seq, due = ARGV[i], tonumber(ARGV[i + 1])
    if due > 0 then
      redis.call('ZADD', timers, ARGV[i + 1], 'a:' .. id .. '-' .. seq)
    else
      redis.call('ZREM', timers, 'a:' .. id .. '-' .. seq)
    end
    if due > 0 or claims[at] then
      local c = read_claim(claims[at])
      c.at, c.cb = due, 0
      redis.call('HSET', key, 'c:' .. seq, write_claim(c))
    end
  end
end

-- One that exists is left alone. Its start event waits in its inbox, its timer is the fallback of who decides it.
local function apply_children(P, operation, section, now)
  local i = section[1] + 1
  while i <= section[2] do
    local child, home, name, n = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 5])
    local key = P .. 'exec:' .. child
    if redis.call('HEXISTS', key, 'v') == 0 then
      redis.call('UNLINK', key, P .. 'ckpt:' .. child)  -- of an attempt to restore one
      redis.call('HSET', key, 'v', write_record({version = math.max(1, now), terminal = false,
        generation = tonumber(ARGV[i + 3]), base = 1, home = home, begun = operation, last = operation,
        status = 'RUNNING'}))
      in_chunks('HSET', key, i + 6, i + 5 + n, 4000)
      count_reference(P, plan_of_header(header_among(i + 6, i + 5 + n)), 1)
      redis.call('RPUSH', P .. 'inbox:' .. child, ARGV[i + 4])
      redis.call('ZADD', P .. 'timers:' .. home, int(now + 1000), 'x:' .. child)
      redis.call('ZADD', P .. 'running:' .. name, int(now), child)
    end
    i = i + 6 + n
  end
end

-- Whether a message that its sender waits for would reach nobody.
local function lacks_receiver(P, section)
  if section then
    for i = section[1], section[2], 3 do
      if ARGV[i + 2] == '1' and redis.call('HEXISTS', P .. 'exec:' .. ARGV[i], 'v') == 0 then
        return true
      end
    end
  end
  return false
end

local function apply_messages(P, section, now)
  for i = section[1], section[2], 3 do
    local target = redis.call('HGET', P .. 'exec:' .. ARGV[i], 'v')
    if target then
      redis.call('RPUSH', P .. 'inbox:' .. ARGV[i], ARGV[i + 1])
      redis.call('ZADD', P .. 'timers:' .. read_record(target).home, 'LT', int(now + 1000), 'x:' .. ARGV[i])
    end
  end
end

local function apply_effects(P, channel, section, version, now)
  for i = section[1], section[2], 4 do
    local due, soonest = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
    redis.call('HSET', P .. 'effects', ARGV[i], int(version) .. ' ' .. ARGV[i + 1])
    due = due > 0 and due or now + due
    if soonest > 0 and soonest < due and fullness() > NEARLY_FULL then
      due = soonest
    end
    redis.call('ZADD', P .. 'outbox', int(due), ARGV[i])
  end
  publish(channel, 'e:' .. string.match(P, ':(%d+)}'))
end

local function apply_answers(P, channel, id, section, now)
  for i = section[1], section[2], 2 do
    put_answer(P, id, ARGV[i], int(now) .. ' ' .. ARGV[i + 1], now)
    publish(channel, 'o:' .. ARGV[i])
  end
  publish(channel, 'x:' .. id)
end

local function apply_logs(log, section)
  in_chunks('RPUSH', log, section[1], section[2], 4000)
  redis.call('LTRIM', log, -10000, -1)
end

-- The index is told all of an execution that has ended.
local function apply_touched(P, id, section, terminal, now)
  local members = {}
  for i = section[1] + 1, section[2] do
    members[#members + 1] = id .. '-' .. ARGV[i]
  end
  if terminal then
    forget_touched(P, members)
  else
    touch(P, members, tonumber(ARGV[section[1]]), now)
  end
end

-- Writes it all; `record` is the new one. Returns whether parked entries are left.
local function apply_changes(P, channel, id, record, lease, name, sections, now)
  local key, home = P .. 'exec:' .. id, record.home
  local fields = sections.F
  if sections.E then apply_ended(P, channel, home, id, sections.E) end
  local upto = fields and math.min(fields[2], fields[1] + 3999) or 0
  if fields then
    redis.call('HSET', key, 'v', write_record(record), 'l', lease, unpack(ARGV, fields[1], upto))
    in_chunks('HSET', key, upto + 1, fields[2], 4000)
  else
    redis.call('HSET', key, 'v', write_record(record), 'l', lease)
  end
  if sections.D then in_chunks('HDEL', key, sections.D[1], sections.D[2], 4000) end
  if sections.R then apply_reopened(key, sections.R) end
  if sections.O then apply_offers(P, channel, home, id, sections.O, now) end
  if sections.T then apply_timers(P, home, id, sections.T) end
  if sections.C then apply_children(P, record.last, sections.C, now) end
  if sections.M then apply_messages(P, sections.M, now) end
  if sections.I then in_chunks('RPUSH', P .. 'inbox:' .. id, sections.I[1], sections.I[2], 4000) end
  if sections.X then apply_effects(P, channel, sections.X, record.version, now) end
  if sections.K then apply_logs(P .. 'log:' .. id, sections.K) end
  if sections.A then apply_answers(P, channel, id, sections.A, now) end
  if sections.Z then apply_touched(P, id, sections.Z, record.terminal, now) end
  return sections.U and unpark(P, channel, id)
end

-- The lease and the execution's own timer after a start or commit.
local function settle_lease(P, id, record, left, due, lease_ms, keep, now)
  local timers, member = P .. 'timers:' .. record.home, 'x:' .. id
  if left then
    redis.call('ZADD', timers, int(keep and now + lease_ms or now), member)
  elseif due > 0 then
    redis.call('ZADD', timers, int(due), member)
  else
    redis.call('ZREM', timers, member)
  end
end
