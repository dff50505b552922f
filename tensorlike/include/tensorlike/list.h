// c10::List and c10::Dict: containers whose copies share their elements, as Python's do.
#pragma once

#include "convert.h"

#include <list>

TENSORLIKE_BEGIN(c10)

template <class T>
class List {
  // Booleans are kept as bytes, so that elements can be referred to.
  using Stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
  using Elements = std::vector<Stored>;

 public:
  using value_type = T;
  using iterator = typename Elements::iterator;
  using const_iterator = typename Elements::const_iterator;
  using size_type = size_t;

  List() : elements_(std::make_shared<Elements>()) {}
  List(std::initializer_list<T> values) : elements_(std::make_shared<Elements>(values.begin(), values.end())) {}
  explicit List(ArrayRef<T> values) : elements_(std::make_shared<Elements>(values.begin(), values.end())) {}
  List(const std::vector<T>& values) : elements_(std::make_shared<Elements>(values.begin(), values.end())) {}
  template <class I>
  List(I begin, I end) : elements_(std::make_shared<Elements>(begin, end)) {}

  List copy() const { return List(begin(), end()); }
  T get(size_t index) const { return static_cast<T>(elements_->at(index)); }
  T extract(size_t index) const { return std::move(elements_->at(index)); }
  void set(size_t index, T value) const { elements_->at(index) = std::move(value); }
  Stored& operator[](size_t index) const { return elements_->at(index); }
  iterator begin() const { return elements_->begin(); }
  iterator end() const { return elements_->end(); }
  bool empty() const { return elements_->empty(); }
  size_t size() const { return elements_->size(); }
  void reserve(size_t count) const { elements_->reserve(count); }
  void resize(size_t count) const { elements_->resize(count); }
  void clear() const { elements_->clear(); }
  void pop_back() const { elements_->pop_back(); }
  void push_back(T value) const { elements_->push_back(std::move(value)); }
  void append(const List& other) const { elements_->insert(end(), other.begin(), other.end()); }
  template <class... A>
  void emplace_back(A&&... arguments) const {
    elements_->emplace_back(std::forward<A>(arguments)...);
  }
  iterator insert(iterator at, T value) const { return elements_->insert(at, std::move(value)); }
  iterator erase(iterator at) const { return elements_->erase(at); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return vec(); }
  bool is(const List& other) const { return elements_ == other.elements_; }
  size_t use_count() const { return static_cast<size_t>(elements_.use_count()); }
  friend bool operator==(const List& a, const List& b) { return *a.elements_ == *b.elements_; }

 private:
  std::shared_ptr<Elements> elements_;
};
template <class T>
using ListRef = List<T>;

// Keeps the order in which keys were inserted.
template <class K, class V>
class Dict {
  using Elements = std::list<std::pair<const K, V>>;

 public:
  using key_type = K;
  using mapped_type = V;
  class Entry {
   public:
    explicit Entry(typename Elements::iterator at) : at_(at) {}
    const K& key() const { return at_->first; }
    V& value() const { return at_->second; }
    template <class W>
    void setValue(W&& value) const {
      at_->second = std::forward<W>(value);
    }

   private:
    typename Elements::iterator at_;
  };
  class iterator {
   public:
    explicit iterator(typename Elements::iterator at) : at_(at) {}
    Entry operator*() const { return Entry(at_); }
    std::unique_ptr<Entry> operator->() const { return std::make_unique<Entry>(at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const iterator& other) const { return at_ == other.at_; }
    bool operator!=(const iterator& other) const { return at_ != other.at_; }

   private:
    friend class Dict;
    typename Elements::iterator at_;
  };

  Dict() : held_(std::make_shared<Held>()) {}
  Dict copy() const {
    Dict other;
    for (const auto& entry : *this) other.insert(entry.key(), entry.value());
    return other;
  }
  iterator begin() const { return iterator(held_->elements.begin()); }
  iterator end() const { return iterator(held_->elements.end()); }
  bool empty() const { return held_->elements.empty(); }
  size_t size() const { return held_->elements.size(); }
  void clear() const {
    held_->places.clear();
    held_->elements.clear();
  }
  void reserve(size_t count) const { held_->places.reserve(count); }
  template <class W>
  std::pair<iterator, bool> insert(const K& key, W&& value) const {
    if (const iterator found = find(key); found != end()) return {found, false};
    const auto at = held_->elements.emplace(held_->elements.end(), key, std::forward<W>(value));
    held_->places.emplace(key, at);
    return {iterator(at), true};
  }
  template <class W>
  std::pair<iterator, bool> insert_or_assign(const K& key, W&& value) const {
    const iterator found = find(key);
    if (found == end()) return insert(key, std::forward<W>(value));
    (*found).setValue(std::forward<W>(value));
    return {found, false};
  }
  size_t erase(const K& key) const {
    const auto found = held_->places.find(key);
    if (found == held_->places.end()) return 0;
    held_->elements.erase(found->second);
    held_->places.erase(found);
    return 1;
  }
  void erase(iterator at) const {
    held_->places.erase(at.at_->first);
    held_->elements.erase(at.at_);
  }
  V& at(const K& key) const {
    const iterator found = find(key);
    TORCH_CHECK_INDEX(found != end(), "Argument passed to at() was not in the map.");
    return (*found).value();
  }
  iterator find(const K& key) const {
    const auto found = held_->places.find(key);
    return found == held_->places.end() ? end() : iterator(found->second);
  }
  bool contains(const K& key) const { return held_->places.count(key) != 0; }
  bool is(const Dict& other) const { return held_ == other.held_; }

 private:
  struct Held {
    Elements elements;
    std::unordered_map<K, typename Elements::iterator> places;
  };
  std::shared_ptr<Held> held_;
};

TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(at)
namespace detail {
template <class T>
struct Convert<List<T>> {
  static PyObject* to(const List<T>& values) { return to_python(values.vec()); }
  static List<T> from(PyObject* object) { return from_python<std::vector<T>>(object); }
};
template <class K, class V>
struct Convert<Dict<K, V>> {
  static PyObject* to(const Dict<K, V>& values) {
    Ref found = checked(PyDict_New());
    for (const auto& entry : values) {
      const Ref key(to_python(entry.key())), value(to_python(entry.value()));
      checked(PyDict_SetItem(found.get(), key.get(), value.get()));
    }
    return found.release();
  }
  static Dict<K, V> from(PyObject* object) {
    if (PyDict_Check(object) == 0) wrong_type("a dict", object);
    Dict<K, V> values;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value) != 0;) {
      values.insert(from_python<K>(key), from_python<V>(value));
    }
    return values;
  }
};
template <>
struct Convert<Ref> {
  static PyObject* to(const Ref& object) { return new_reference(Py_XNewRef(object.get())); }
  static Ref from(PyObject* object) { return Ref::borrow(object); }
};
}  // namespace detail
TENSORLIKE_END(at)
