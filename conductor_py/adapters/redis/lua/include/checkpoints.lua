-- What long tasks keep, the hash `ckpt:<id>`: names and words as in ports/checkpoints.py. A place is a reference with
-- its iteration. What an attempt finds was kept by its own line of attempts: another root means nothing is kept.
local function words(text)
  local out = {}
  for word in string.gmatch(text or '', '%S+') do
    out[#out + 1] = word
  end
  return out
end

local function drop_fields(key, names)
  for from = 1, #names, 4000 do
    redis.call('HDEL', key, unpack(names, from, math.min(from + 3999, #names)))
  end
end

local function place_of(a)
  local it = a.it or ''
  return it == '' and a.ref or a.ref .. '#' .. it
end

-- Reads what is kept at a place, for the line of attempts `root`; `old` is what another line left there.
local function read_place(key, place, root)
  local w = words(redis.call('HGET', key, 't:' .. place))
  local n = tonumber(w[3]) or 0
  local kept = {key = key, place = place, token = tonumber(w[1]) or 0, root = tonumber(w[2]) or root, listed = w[1] ~= nil,
    parts = {}, savepoints = {}}
  for i = 4, #w do
    local list = i < 4 + n and kept.parts or kept.savepoints
    list[#list + 1] = w[i]
  end
  if kept.root ~= root then
    return {key = key, place = place, token = kept.token, root = root, listed = true, parts = {}, savepoints = {}, old = kept}
  end
  return kept
end

local function write_place(kept)
  local w = {string.format('%d', kept.token), string.format('%d', kept.root), #kept.parts}
  for _, part in ipairs(kept.parts) do
    w[#w + 1] = part
  end
  for _, name in ipairs(kept.savepoints) do
    w[#w + 1] = name
  end
  redis.call('HSET', kept.key, 't:' .. kept.place, table.concat(w, ' '))
end

-- One part: epoch, token and hash of its newest record, its notes, what it is to go on from, its history (newest first).
local function read_part(kept, name)
  local w = words(redis.call('HGET', kept.key, 'p:' .. name .. ' ' .. kept.place))
  local part = {name = name, known = w[1] ~= nil and not kept.old, epoch = 0, token = 0, hash = '-', notes = 0,
    note_bytes = 0, from = '-', history = {}}
  if not part.known then
    return part
  end
  part.epoch, part.token, part.hash = tonumber(w[1]), tonumber(w[2]), w[3]
  part.notes, part.note_bytes, part.from = tonumber(w[4]), tonumber(w[5]), w[6]
  for i = 7, #w do
    local epoch, at, bytes, hash = string.match(w[i], '^(%d+)/(%d+)/(%d+)/(%x+)$')
    part.history[#part.history + 1] = {epoch = tonumber(epoch), at = at, bytes = tonumber(bytes), hash = hash}
  end
  return part
end

local function write_part(kept, part)
  local w = {string.format('%d', part.epoch), string.format('%d', part.token), part.hash, part.notes, part.note_bytes,
    part.from}
  for _, one in ipairs(part.history) do
    w[#w + 1] = string.format('%d/%s/%d/%s', one.epoch, one.at, one.bytes, one.hash)
  end
  redis.call('HSET', kept.key, 'p:' .. part.name .. ' ' .. kept.place, table.concat(w, ' '))
end

local function record_name(kept, part, epoch)
  return 'e:' .. part.name .. ' ' .. string.format('%d', epoch) .. ' ' .. kept.place
end

local function note_names(kept, part, first, last, names)
  for i = first, last do
    names[#names + 1] = 'n:' .. part.name .. ' ' .. i .. ' ' .. kept.place
  end
  return names
end

-- A savepoint: when it was taken, and of each part that it holds epoch, size and hash of the pinned record.
local function read_savepoint(kept, name)
  local w = words(redis.call('HGET', kept.key, 's:' .. name .. ' ' .. kept.place))
  local point = {name = name, at = w[1] or '0', pins = {}}
  for i = 2, #w do
    local part, epoch, bytes, hash = string.match(w[i], '^([^/]+)/(%d+)/(%d+)/(%x+)$')
    point.pins[#point.pins + 1] = {part = part, epoch = tonumber(epoch), bytes = tonumber(bytes), hash = hash}
  end
  return point
end

-- Pins the newest record of a part under a savepoint's name; returns by how much what is kept grows.
local function pin(kept, point, part, at)
  local newest = part.history[1]
  if not newest then
    return 0
  end
  local grown, found = newest.bytes, nil
  for _, one in ipairs(point.pins) do
    if one.part == part.name then
      grown, found = grown - one.bytes, one
    end
  end
  if not found then
    found = {part = part.name}
    point.pins[#point.pins + 1] = found
  end
  found.epoch, found.bytes, found.hash, point.at = newest.epoch, newest.bytes, newest.hash, at
  local record = redis.call('HGET', kept.key, record_name(kept, part, newest.epoch))
  redis.call('HSET', kept.key, 'k:' .. point.name .. ' ' .. part.name .. ' ' .. kept.place, record)
  local w = {at}
  for i, one in ipairs(point.pins) do
    w[i + 1] = string.format('%s/%d/%d/%s', one.part, one.epoch, one.bytes, one.hash)
  end
  redis.call('HSET', kept.key, 's:' .. point.name .. ' ' .. kept.place, table.concat(w, ' '))
  return grown
end

-- What somebody asked of the task, as long as it is of this generation of the execution.
local function read_request(kept, generation)
  local w = words(redis.call('HGET', kept.key, 'q:' .. kept.place))
  local same = tonumber(w[1]) == generation
  return {number = tonumber(w[2]) or 0, action = same and w[4] or 'RUN', savepoint = same and w[5] or '-'}
end

local function places_of(key)
  local list = redis.call('HGET', key, 'l')
  return list and cjson.decode(list) or {}
end

-- Deletes what another line of attempts kept at the place, and enters the place; returns the bytes that went.
local function settle_place(kept)
  local key, place, gone = kept.key, kept.place, 0
  if kept.old then
    local names = {'q:' .. place}
    for _, name in ipairs(kept.old.parts) do
      local part = read_part(kept.old, name)
      names[#names + 1] = 'p:' .. name .. ' ' .. place
      for _, one in ipairs(part.history) do
        names[#names + 1], gone = record_name(kept, part, one.epoch), gone + one.bytes
      end
      gone = gone + part.note_bytes
      note_names(kept, part, 1, part.notes, names)
    end
    for _, name in ipairs(kept.old.savepoints) do
      names[#names + 1] = 's:' .. name .. ' ' .. place
      for _, one in ipairs(read_savepoint(kept.old, name).pins) do
        names[#names + 1], gone = 'k:' .. name .. ' ' .. one.part .. ' ' .. place, gone + one.bytes
      end
    end
    drop_fields(key, names)
    kept.old = nil
  elseif not kept.listed then
    local places = places_of(key)
    places[#places + 1] = place
    redis.call('HSET', key, 'l', cjson.encode(places))
  end
  kept.listed = true
  return gone
end

local function kept_bytes(key)
  return tonumber(redis.call('HGET', key, 'b') or 0)
end

-- The fields of a place under names without it; with records and notes only of what an attempt goes on from.
local function shown(kept, generation, whole, out)
  local place, names = kept.place, {}
  local function add(name, field)
    names[#names + 1], names[#names + 2] = name, field
  end
  if kept.old then
    return out
  end
  add('t', 't:' .. place)
  if read_request(kept, generation).action ~= 'RUN' then
    add('q', 'q:' .. place)
  end
  for _, name in ipairs(kept.savepoints) do
    add('s:' .. name, 's:' .. name .. ' ' .. place)
  end
  for _, name in ipairs(kept.parts) do
    add('p:' .. name, 'p:' .. name .. ' ' .. place)
    local part = whole and read_part(kept, name)
    if part then
      if part.history[1] then
        add('e:' .. name, record_name(kept, part, part.epoch))
      end
      for i, field in ipairs(note_names(kept, part, 1, part.notes, {})) do
        add('n:' .. name .. ' ' .. i, field)
      end
      local kind, rest = string.match(part.from, '^(.)([^!]*)')
      if kind == 'e' then
        add('x:' .. name, record_name(kept, part, tonumber(rest)))
      elseif kind == 's' then
        add('x:' .. name, 'k:' .. rest .. ' ' .. name .. ' ' .. place)
      end
    end
  end
  for from = 1, #names, 4000 do
    local fields = {}
    for i = from, math.min(from + 3999, #names), 2 do
      fields[#fields + 1] = names[i + 1]
    end
    for i, value in ipairs(redis.call('HMGET', kept.key, unpack(fields))) do
      if value then
        out[#out + 1], out[#out + 2] = names[from + 2 * (i - 1)], value
      end
    end
  end
  return out
end

-- Who asks must hold the attempt now, under the highest token that was ever seen here.
local function held_place(P, now, id, seq, claim)
  local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'h', 'a:' .. seq, 'c:' .. seq)
  if not present[1] then
    return 'GONE'
  end
  if not present[3] then
    return 'UNKNOWN_TASK'
  end
  local record, a, c = read_record(present[1]), cjson.decode(present[3]), read_claim(present[4])
  if c.closed == 1 or not is_open(record, present[2], tonumber(seq), a) then
    return 'IGNORED'
  end
  local ends = c['until']
  if c.held == 0 or (ends > 0 and ends <= now) or claim ~= c.k then
    return 'SUPERSEDED'
  end
  local kept = read_place(P .. 'ckpt:' .. id, place_of(a), a.root or tonumber(seq))
  if claim < kept.token then
    return 'SUPERSEDED'
  end
  return nil, kept, record
end
